"""The numbers that compare settings with a baseline, computed by `rules`."""

from support.report.recomputed_page import ReportPage, combine_repeats, list_settings
from support.report.recomputed_results import RATE, Numbers, Result
from support.report.recomputed_spread import COMPARED_COLUMNS

from rules.metrics import comparison


def list_changes(page: ReportPage, result: Result) -> Numbers:
    """The changes against the fastest setting, in percent; none for a result that is compared with
    no other."""
    has_comparison = f"{result.workload}-compare" in {table.id for table in page.tables}
    if not (has_comparison and result.may_win) or result.standing in ("demo", "control"):
        return {}
    numbers = compare_with_fastest(page, result)
    return {key: numbers[key] for key in ("rate_percent", "joules_percent")}


def compare_with_fastest(page: ReportPage, result: Result) -> Numbers:
    setting = combine_repeats(page, result)
    base = max(list_settings(page, page.list_compared(result)), key=lambda n: n[RATE])
    percent = {
        f"{prefix}_percent": comparison.relative_percent(setting[key], base[key])
        for prefix, key in COMPARED_COLUMNS
    }
    return {**setting, **percent}


def compare_with_baseline(page: ReportPage, result: Result) -> Numbers:
    def make_run_key(r: Result) -> tuple[object, ...]:
        return (r.workload, r.standing == "demo", r.system, r.model, r.count, r.cap_w)

    candidates = [
        r
        for r in page.results
        if r.may_win and r.bundle and make_run_key(r) == make_run_key(result)
    ]
    baselines = list_settings(page, (r for r in candidates if r.variant == "baseline"))
    base = max(baselines, key=lambda n: n[RATE])
    numbers = combine_repeats(page, result)
    for prefix, key in COMPARED_COLUMNS:
        numbers[f"{prefix}_percent"] = comparison.relative_percent(numbers[key], base[key])
        numbers |= {
            f"baseline_{prefix}{end}": base[f"{key}{end}"] for end in ("", "_low", "_high", "_n")
        }
    return numbers | {"board_limit_percent": page.board_limits[0]}
