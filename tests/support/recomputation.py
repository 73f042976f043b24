"""The numbers that each kind of table of the report must show, computed by `rules` from recomputed
results. No arithmetic of `reporting` takes part.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from support.report.recomputed_comparison import (
    compare_with_baseline,
    compare_with_fastest,
    list_changes,
)
from support.report.recomputed_page import (
    ReportPage,
    combine_repeats,
    join_repeats,
    list_runs_at_cap,
    list_settings,
)
from support.report.recomputed_results import (
    JOULES,
    PER_JOULE,
    RATE,
    Numbers,
    Result,
    list_estimate_columns,
)
from support.report.recomputed_spread import (
    compare_repeats,
    count_runs,
    list_components,
    list_epoch_figures,
    predict_another_run,
)

from reporting.report_table import ReportTable
from reporting.sections.planning import DEFAULTS
from rules.boards import find_board
from rules.declarations.run import RunDeclaration
from rules.metrics import comparison
from rules.metrics.energy import MetricsError
from rules.metrics.power.profile import share_of_control
from rules.metrics.sweeps.gains import Comparison, compare
from rules.metrics.sweeps.points import (
    Point,
    average_settings,
    combine,
    common_default_cap_w,
    find_reference,
)
from rules.metrics.uncertainty.within_run import describe_epochs
from rules.workloads import workloads


def list_numbers(page: ReportPage, result: Result) -> Numbers:
    return dict(result.numbers)


def add_control_share(page: ReportPage, result: Result) -> Numbers:
    control = page.find_control(result)
    if control is None:
        return dict(result.numbers)
    share = share_of_control(result.numbers["power_w"], control.numbers["median_w"])
    return dict(result.numbers) | {"control_percent": 100 * share}


def add_runs(page: ReportPage, result: Result) -> Numbers:
    """The numbers of a result, and how many runs and boards its setting rests on."""
    runs = list_runs_at_cap(page, result) if result.bundle else [result]
    return add_control_share(page, result) | count_runs(runs)


def add_board_limit(page: ReportPage, result: Result) -> Numbers:
    """The numbers of a result, and the least difference in energy between boards that counts. No
    run is compared with a demo run."""
    return add_runs(page, result) | list_board_limit(page, result, JOULES)


def list_board_limit(page: ReportPage, result: Result, key: str) -> Numbers:
    """The least difference of two runs on other boards; nothing for demo runs. No board prints a
    figure of a paper, but the model of the board has a limit too."""
    if result.standing == "demo":
        return {}
    return {"board_limit_percent": page.find_board_limit(result, key)}


def compare_with_mean(page: ReportPage, result: Result) -> Numbers:
    """The figures of a run by epoch, and its energy against the mean of its setting."""
    repeats = join_repeats(page, result) or list_runs_at_cap(page, result)
    numbers = add_board_limit(page, result) | list_epoch_figures(result)
    mean = np.mean([r.numbers[JOULES] for r in repeats])
    numbers |= {
        "runs": len(repeats),
        "joules_mean": mean,
        "off_mean_percent": 100 * (result.numbers[JOULES] / mean - 1),
        "mean_percent": 0,
    }
    if result.standing != "demo":
        predicted = predict_another_run(repeats, JOULES, page.spreads)
        low, high = (100 * (predicted[f"{JOULES}_{end}"] / mean - 1) for end in ("low", "high"))
        numbers |= {
            "mean_percent_low": low,
            "mean_percent_high": high,
            "mean_percent_n": len(repeats),
        }
    return numbers


def make_best_source(criterion: str) -> "Source":
    key = {"throughput": RATE, "efficiency": PER_JOULE}[criterion]

    def find_best(page: ReportPage, result: Result) -> Numbers:
        settings = list_settings(
            page, (r for r in page.list_compared(result) if r.cap_w == result.cap_w)
        )
        best = max(settings, key=lambda n: n[key])
        value = {f"value{end}": best.get(f"{key}{end}") for end in ("", "_low", "_high", "_n")}
        runs = {name: best.get(name) for name in ("runs", "boards_n")}
        return {"cap_w": result.cap_w, "n": len(settings), **runs, **value}

    return find_best


def compute_scaling_row(page: ReportPage, result: Result) -> Numbers:
    runs = [
        r
        for r in page.results
        if r.bundle
        and r.may_win
        and r.count == 1
        and r.comparison_key[:3] == result.comparison_key[:3]
    ]
    single_runs = [
        r
        for r in runs
        if (r.variant, r.model, r.cap_w) == (result.variant, result.model, result.cap_w)
    ]
    # A run on one accelerator of the same system is preferred to that of another.
    single_runs = [r for r in single_runs if r.system == result.system] or single_runs
    # Of these, one with the same batch per accelerator.
    batch = find_batch_per_accelerator(result)
    same_batch = [r for r in single_runs if find_batch_per_accelerator(r) == batch]
    single_runs = same_batch or single_runs
    limits = list_board_limit(page, result, RATE)
    if not single_runs:
        return dict(result.numbers) | limits
    (single,) = combine([r.point for r in single_runs])
    count = result.count or 0
    numbers = {**result.numbers, "on_one": single.items_per_s, **limits}
    for column, key, factor in (
        ("speed_up", RATE, count),
        ("efficiency_percent", RATE, 100),
        ("energy_per_item_ratio", JOULES, 1),
    ):
        difference = compare_repeats([result], single_runs, key, page.spreads, False)
        ratio = factor * (1 + difference.percent / 100)
        numbers |= {column: ratio, f"{column}_n": 1}
        if result.standing != "demo":
            numbers |= {
                f"{column}_low": ratio * np.exp(-difference.half_width),
                f"{column}_high": ratio * np.exp(difference.half_width),
            }
    return numbers


def find_batch_per_accelerator(result: Result) -> float:
    settings = result.loaded_bundle.settings
    return settings.batch_size / ((result.count or 1) if settings.requests else 1)


def get_default_cap_w(runs: Iterable[Result]) -> float:
    """The default cap of the boards of some bundles."""
    return common_default_cap_w(
        cap_w
        for run in runs
        for cap_w in RunDeclaration.from_document(run.loaded_bundle.result).default_caps_w
    )


def compute_sweep_row(page: ReportPage, result: Result) -> Numbers:
    runs = page.list_sweep_runs(result)
    points = combine([r.point for r in runs])
    (point,) = [p for p in points if p.cap_w == result.cap_w]
    change = compare(point, find_reference(points, get_default_cap_w(runs)))
    return {
        "cap_w": point.cap_w,
        "in_force_w": result.numbers["in_force_w"],
        "power_w": np.mean([r.numbers["power_w"] for r in runs if r.cap_w == result.cap_w]),
        **list_gains(point, change),
    }


def compute_batch_row(page: ReportPage, result: Result) -> Numbers:
    """The mean of the runs with the batch size of a result, or the requests in flight of a server,
    against the smallest one of the runs that differ in it only."""

    def list_fixed(r: Result) -> tuple[object, ...]:
        return (*list_common(r), r.standing, r.variant, r.precision)

    runs = [r for r in page.results if r.bundle and list_fixed(r) == list_fixed(result)]
    return compute_axis_row(runs, result, lambda r: r.numbers["batch"])


def compute_precision_row(page: ReportPage, result: Result) -> Numbers:
    """The mean of the runs with the precision of a result, against the first precision by name of
    the runs of variants that differ in it only. They have one batch size."""
    variants = workloads()[result.workload].precision_variants

    def list_fixed(r: Result) -> tuple[object, ...]:
        return (*list_common(r), r.numbers["batch"])

    runs = [
        r
        for r in page.results
        if r.bundle and r.variant in variants and list_fixed(r) == list_fixed(result)
    ]
    return compute_axis_row(runs, result, lambda r: str(r.precision))


def list_common(result: Result) -> tuple[object, ...]:
    """What all runs of a sweep over another setting than cap and accelerators have in common."""
    own_code = result.loaded_bundle.result["implementation"].get("sha256")
    return (result.center, result.system, result.workload, result.count, result.cap_w, own_code)


Value = TypeVar("Value", str, float)


def compute_axis_row(
    runs: Sequence[Result], result: Result, read: Callable[[Result], Value]
) -> Numbers:
    """The mean of the runs with the value of a result, against those with the lowest value."""
    runs_by_value: dict[Value, list[Result]] = {}
    for r in runs:
        if not r.has_older_recipe:
            runs_by_value.setdefault(read(r), []).append(r)
    averages = average_settings([[r.point for r in runs] for runs in runs_by_value.values()])
    points = dict(zip(runs_by_value, averages, strict=True))
    value = read(result)
    return {
        "value": value,
        "power_w": np.mean([r.numbers["power_w"] for r in runs_by_value[value]]),
        **list_gains(points[value], compare(points[value], points[min(points)])),
    }


def list_gains(point: Point, change: Comparison) -> Numbers:
    """The numbers of a setting of a sweep, and what it saves and costs against the reference."""
    return {
        "items_per_s": point.items_per_s,
        "joules_per_item": point.joules_per_item,
        "items_per_joule": point.items_per_joule,
        **list_estimate_columns("energy_gain_percent", change.energy_gain_percent),
        **list_estimate_columns("extra_time_percent", change.extra_time_percent),
        **list_estimate_columns(
            "gain_minus_extra_time_points", change.gain_minus_extra_time_points
        ),
        **list_estimate_columns("edp_js", change.edp_js),
        **list_estimate_columns("edp_gain_percent", change.edp_gain_percent),
        **list_estimate_columns("eds_gain_k15_percent", change.eds_gain_percent[1.5]),
        **list_estimate_columns("eds_gain_k2_percent", change.eds_gain_percent[2.0]),
        "n": point.n,
    }


def add_relative_figures(page: ReportPage, result: Result) -> Numbers:
    """The numbers of a result, those against the baseline, and those relative to its line at the
    default cap, if its line has a comparable result there and another cap."""
    numbers = add_board_limit(page, result) | list_changes(page, result)
    if result.bundle:
        line = page.list_sweep_runs(result)
    else:
        key = (result.workload, result.system, result.model)
        line = [r for r in page.results if (r.workload, r.system, r.model) == key]
    if len({r.cap_w for r in line}) == 1 or result.forbids_comparison:
        return numbers
    try:
        default_cap_w = get_default_cap_w(line) if result.bundle else get_board_cap_w(result.model)
        reference = find_reference(combine([r.point for r in line]), default_cap_w)
    except MetricsError:
        return numbers
    point = result.point
    change = compare(point, reference)
    return numbers | {
        "relative_rate_percent": 100 * point.items_per_s / reference.items_per_s,
        "relative_efficiency_percent": 100 * reference.joules_per_item / point.joules_per_item,
        "energy_gain_percent": change.energy_gain_percent.mean,
        "extra_time_percent": change.extra_time_percent.mean,
        "edp_gain_percent": change.edp_gain_percent.mean,
        "eds_gain_k15_percent": change.eds_gain_percent[1.5].mean,
        "eds_gain_k2_percent": change.eds_gain_percent[2.0].mean,
    }


def get_board_cap_w(model: str) -> float:
    board = find_board(model)
    assert board is not None and board.default_power_w is not None
    return board.default_power_w


def list_serving_figures(page: ReportPage, result: Result) -> Numbers:
    bundle = result.loaded_bundle
    assert bundle.figures is not None and bundle.figures.serving is not None
    serving, request_set = bundle.figures.serving, bundle.result["settings"]["requests"]
    times_s = {
        f"{key}_{p}": getattr(getattr(serving, key), p)
        for key in ("ttft_s", "tpot_s", "latency_s")
        for p in ("p50", "p95", "p99")
    }
    token_counts = {key: request_set[key] for key in ("prompt_tokens", "output_tokens")}
    return {
        **dict(result.numbers),
        "user_tokens_per_s": 1 / serving.tpot_s.p50,
        "concurrency": request_set["concurrency"],
        "requests": serving.requests,
        "input_tokens_per_s": serving.input_tokens_per_s,
        **token_counts,
        **times_s,
    }


def list_idle_figures(page: ReportPage, result: Result) -> Numbers:
    """From what result.json states, which N118 compares with the evidence."""
    stated = result.loaded_bundle.result
    used = [board for board in stated["idle"] if board["used"]]
    unused = [board for board in stated["idle"] if not board["used"]]
    (preparation,) = [phase for phase in stated["phases"] if phase["phase"] == "preparation"]
    resident_w = np.mean([board["resident_w"] for board in used])
    return {
        "cap_w": result.cap_w,
        "bare_w": np.mean([board["bare_w"] for board in used]),
        "resident_w": resident_w,
        "idle_percent": 100 * resident_w / result.numbers["power_w"],
        "preparation_s": preparation["seconds"],
        "preparation_kj": preparation["energy_j"] / 1e3,
        "unused_boards": len(unused),
        "unused_w": sum(board["mean_w"] for board in unused),
        "busy_boards": sum(
            board["mean_w"] > 2 * np.mean([board["bare_w"] for board in used]) for board in unused
        ),
    }


def compute_planning_row(page: ReportPage, result: Result) -> Numbers:
    """The row of the setting of a result: the mean over its repeats, ranked among the settings of
    its comparison group."""

    def compute_mean(repeats: Sequence[Result], key: str) -> float:
        return float(np.mean([r.numbers.get(key, r.cap_w) for r in repeats]))

    settings: list[list[Result]] = []
    for other in page.list_compared(result):
        if not any(other in repeats for repeats in settings):
            settings.append(join_repeats(page, other))
    figures = [tuple(compute_mean(s, key) for key in (RATE, JOULES)) for s in settings]
    highest_rate, highest_joules = (max(values) for values in zip(*figures, strict=True))
    scores = [
        comparison.score(
            joules, highest_joules, 100 * rate / highest_rate, DEFAULTS.weight, DEFAULTS.scaling
        )
        for rate, joules in figures
    ]
    ranks: dict[int, int] = {}
    leader = -1
    for place, number in enumerate(sorted(range(len(settings)), key=lambda n: -scores[n])):
        is_tie = leader >= 0 and is_rank_shared(page, settings[number], settings[leader])
        ranks[number] = ranks[leader] if is_tie else place + 1
        leader = leader if is_tie else number
    own = next(n for n, repeats in enumerate(settings) if result in repeats)
    rate, joules = figures[own]
    kwh_per_million = comparison.site_kwh(joules, 1e6, DEFAULTS.pue)
    kwh_per_year = comparison.site_kwh(
        joules, comparison.items_per_year(DEFAULTS.millions_per_day), DEFAULTS.pue
    )
    return {
        "rank": ranks[own],
        "score": scores[own],
        **_select_energy(combine_repeats(page, result)),
        RATE: rate,
        JOULES: joules,
        "power_w": compute_mean(settings[own], "power_w"),
        "cap_w": result.cap_w,
        "eur_per_million": kwh_per_million * DEFAULTS.price_per_kwh,
        "gco2e_per_million": kwh_per_million * DEFAULTS.gco2e_per_kwh,
        "eur_per_year": kwh_per_year * DEFAULTS.price_per_kwh,
        "kgco2e_per_year": kwh_per_year * DEFAULTS.gco2e_per_kwh / 1e3,
        "accelerators_needed": comparison.accelerators_needed(DEFAULTS.millions_per_day, rate),
    }


def is_rank_shared(page: ReportPage, repeats: Sequence[Result], leader: Sequence[Result]) -> bool:
    """Whether two settings are told apart in no figure; of printed ones, whether they are equal."""
    if repeats[0].bundle is None:
        return all(repeats[0].numbers[key] == leader[0].numbers[key] for key in (RATE, JOULES))
    return not any(
        compare_repeats(repeats, leader, key, page.spreads).counts for key in (RATE, JOULES)
    )


def _select_energy(numbers: Numbers) -> Numbers:
    """The interval of energy, runs and boards of a setting."""
    ends = (f"{JOULES}_low", f"{JOULES}_high")
    keys = (*ends, "runs", "boards_n")
    return {key: number for key, number in numbers.items() if key in keys}


def compute_fixed_work_row(page: ReportPage, result: Result) -> Numbers:
    """Of a run without node meters: the nodes draw what the accelerators draw, and an assumed
    share."""
    headline = describe_epochs(result.loaded_figures).headline
    joules, count, items = headline.joules_per_item, result.count or 0, DEFAULTS.fixed_items
    assert joules is not None
    rest_w = DEFAULTS.node_share_w * count / DEFAULTS.node_share_accelerators

    def compute_node_j(other: Result) -> float:
        share_j = rest_w / other.numbers["items_per_s"]
        return float(other.numbers[JOULES] + share_j)

    compared = [r for r in page.list_compared(result) if r.bundle]
    seconds = items / headline.items_per_s.mean
    low, high = (result.numbers[f"{JOULES}_{end}"] for end in ("low", "high"))
    kwh = items / 3.6e6
    return {
        "batch": result.numbers["batch"],
        "cap_w": result.cap_w,
        "items": items,
        "hours": seconds / 3600,
        "accelerators_kwh": joules.mean * kwh,
        "accelerators_kwh_low": low and low * kwh,
        "accelerators_kwh_high": high and high * kwh,
        "accelerators_kwh_n": 1,
        "node_kwh": compute_node_j(result) * kwh,
        "node_kw": compute_node_j(result) * headline.items_per_s.mean / 1e3,
        "node_joules_per_item": compute_node_j(result),
        "ratio": compute_node_j(result) / min(map(compute_node_j, compared)),
        "active_percent": result.numbers["active_percent"],
        "utilisation_percent": result.numbers["utilisation_percent"],
    }


def list_evidence(page: ReportPage, result: Result) -> Numbers:
    return {
        "n": len(result.loaded_figures.scored_epochs),
        "difference_percent": result.numbers["difference_percent"],
    }


def list_printed_figure(page: ReportPage, result: Result) -> Numbers:
    """The printed figure alone where no run has its settings; else also the run, and their
    ratio."""
    if result.bundle is None:
        return {"printed": result.numbers[RATE]}
    key = (result.workload, result.model, result.cap_w)
    (printed,) = (
        r for r in page.results if r.bundle is None and (r.workload, r.model, r.cap_w) == key
    )
    is_compared = printed.may_win and result.comparable and result.standing != "demo"
    ratio = result.numbers[RATE] / printed.numbers[RATE]
    return {
        "printed": printed.numbers[RATE],
        **{f"measured{end}": result.numbers[f"{RATE}{end}"] for end in ("", "_low", "_high", "_n")},
        "total": result.numbers["items_per_s"],
        "ratio": ratio if is_compared else None,
    }


Source = Callable[[ReportPage, Result], Numbers]
SOURCES: Mapping[str, Source] = {
    "results": add_relative_figures,
    "epochs": compare_with_mean,
    "control": list_numbers,
    "factors": list_numbers,
    "system": list_numbers,
    "power": list_numbers,
    "excluded": list_numbers,
    "compare": compare_with_fastest,
    "tuned": compare_with_baseline,
    "scaling": compute_scaling_row,
    "sweeps": compute_sweep_row,
    "batch": compute_batch_row,
    "concurrency": compute_batch_row,
    "precision": compute_precision_row,
    "serving": list_serving_figures,
    "idle": list_idle_figures,
    "work": compute_fixed_work_row,
    "what-if": compute_planning_row,
    "evidence": list_evidence,
    "like": list_printed_figure,
}
"""The function that computes the numbers of a row, by the kind of its table. Rows of the kinds in
`SOURCES_BY_ROW` name a figure, on which their function depends."""
SOURCES_BY_ROW: Mapping[str, Callable[[Mapping[str, Any]], Source]] = {
    "best": lambda row: make_best_source(str(row["by"])),
    "repeats": lambda row: (
        lambda page, result: list_components(list_runs_at_cap(page, result), str(row["figure"]))
    ),
}


def get_table_kind(table: ReportTable) -> str:
    """The kind of a table: `trace` for `resnet50-train-demo-trace-1`, `what-if` for `what-if`."""
    return table.id if table.id == "what-if" else table.id.rstrip("0123456789-").rpartition("-")[2]
