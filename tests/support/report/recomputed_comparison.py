"""The numbers that compare settings with a baseline, computed with NumPy."""

from collections.abc import Sequence

from support.report.recomputed_page import ReportPage, combine_repeats, join_repeats
from support.report.recomputed_results import RATE, Numbers, Result
from support.report.recomputed_spread import COMPARED_COLUMNS, compare_repeats

from rules.metrics import comparison


def list_changes(page: ReportPage, result: Result) -> Numbers:
    """The changes of a single run against the fastest setting, in percent; none for a result that
    is compared with no other."""
    has_comparison = f"{result.workload}-compare" in {table.id for table in page.tables}
    if not (has_comparison and result.may_win) or result.standing in ("demo", "control"):
        return {}
    settings = list_groups(page, page.list_compared(result))
    if len(settings) == 1:
        return {}
    return list_differences(page, [result], find_fastest(settings), on_shared_boards=False)


def list_groups(page: ReportPage, results: Sequence[Result]) -> list[list[Result]]:
    """The repeats of each setting among some results."""
    settings = {id(join_repeats(page, r)[0]): join_repeats(page, r) for r in results}
    return list(settings.values())


def find_fastest(settings: Sequence[Sequence[Result]]) -> Sequence[Result]:
    return max(settings, key=lambda runs: sum(r.numbers[RATE] for r in runs) / len(runs))


def list_differences(
    page: ReportPage,
    repeats: Sequence[Result],
    base: Sequence[Result],
    on_shared_boards: bool = True,
) -> Numbers:
    """The changes of throughput and energy, and the number of shared boards if these alone were
    compared."""
    numbers: Numbers = {}
    for prefix, key in COMPARED_COLUMNS:
        if repeats[0].bundle is None:
            value, base_value = (runs[0].numbers[key] for runs in (repeats, base))
            numbers[f"{prefix}_percent"] = comparison.relative_percent(value, base_value)
            continue
        difference = compare_repeats(repeats, base, key, page.spreads, on_shared_boards)
        is_same = [id(r) for r in repeats] == [id(r) for r in base]
        numbers[f"{prefix}_percent"] = 0.0 if is_same else difference.percent
        if difference.shared_boards and not is_same:
            numbers["shared_boards"] = difference.shared_boards
    return numbers


def compare_with_fastest(page: ReportPage, result: Result) -> Numbers:
    settings = list_groups(page, page.list_compared(result))
    numbers = combine_repeats(page, result)
    if len(settings) == 1:
        return numbers
    repeats = next(runs for runs in settings if any(r is result for r in runs))
    return numbers | list_differences(page, repeats, find_fastest(settings))


def compare_with_baseline(page: ReportPage, result: Result) -> Numbers:
    def make_run_key(r: Result) -> tuple[object, ...]:
        return (r.workload, r.standing == "demo", r.system, r.model, r.count, r.cap_w)

    baselines = [
        r
        for r in page.results
        if r.may_win
        and r.bundle
        and r.variant == "baseline"
        and make_run_key(r) == make_run_key(result)
    ]
    base = find_fastest(list_groups(page, baselines))
    numbers = combine_repeats(page, result)
    changes = list_differences(page, join_repeats(page, result), base)
    base_numbers = combine_repeats(page, base[0])
    for prefix, key in COMPARED_COLUMNS:
        numbers |= {
            f"baseline_{prefix}{end}": base_numbers[f"{key}{end}"]
            for end in ("", "_low", "_high", "_n")
        }
    return numbers | changes | {"board_limit_percent": page.find_board_limit(result, RATE)}
