"""The comparisons that a sweep prints at its end: each setting with the reference, and several
accelerators with one."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from rich.console import Console
from rich.table import Table

from harness.sweep.axis import AS_FOUND, AXES, CAP, GPUS, Axis, Value
from harness.sweep.hill import print_hills
from harness.sweep.plan import Entry
from harness.sweep.points import SettingRuns, make_node_points, make_points
from rules.metrics.energy import MetricsError
from rules.metrics.figures import Estimate
from rules.metrics.sweeps.best_settings import SHOWN_EDS_K, BestSetting, find_best_settings
from rules.metrics.sweeps.gains import Comparison, compare
from rules.metrics.sweeps.peaks import find_measured_peak, fit_quadratic_peak
from rules.metrics.sweeps.points import (
    Point,
    common_default_cap_w,
    find_reference,
)
from rules.metrics.sweeps.scaling import compute_scaling
from rules.metrics.uncertainty.propagation import Basis, excludes
from rules.workloads import pluralize_item

NO_CAP = "none"
"""The text for a run whose meter reports no power limit."""
GAINS: Mapping[str, Callable[[Comparison], Estimate]] = {
    "energy\ngain, %": lambda comparison: comparison.energy_gain_percent,
    "extra\ntime, %": lambda comparison: comparison.extra_time_percent,
    "gain \u2212\ntime": lambda comparison: comparison.gain_minus_extra_time_points,
    "EDP\ngain, %": lambda comparison: comparison.edp_gain_percent,
    "EDS 1.5\ngain, %": lambda comparison: comparison.eds_gain_percent[1.5],
    "EDS 2\ngain, %": lambda comparison: comparison.eds_gain_percent[2.0],
}
"""The columns of gains, and how a comparison gives them."""
NOT_TOLD_APART = "~"
"""The mark of a gain whose 95 % interval contains zero."""
BASES: Mapping[Basis | None, str] = {
    "runs": "between repeated runs",
    "epochs": "within single runs, without the difference between runs",
}
"""What the intervals of a table come from."""


def print_comparison(
    axes: Sequence[Axis],
    runs: SettingRuns,
    reference: Mapping[str, Value],
    title: str,
    item: str,
    ineffective_run_ids: Collection[str],
    console: Console,
) -> None:
    """Print the most efficient setting, the gains of each setting against the reference, and a
    chart of their efficiency. If there is no reference, the reason is printed instead of the
    gains. `reference` is that of the sweep."""
    try:
        points = make_points(runs, ineffective_run_ids)
    except MetricsError as error:
        console.print(f"{title}: {error}")
        return
    node_points = make_node_points(runs, ineffective_run_ids)
    try:
        if line := _describe_best(axes, points, item):
            node_line = _describe_best_of_nodes(axes, points, node_points, item)
            scope = " (accelerators alone)" if node_line else ""
            console.print(f"{title}{scope}: {line}")
            if node_line:
                console.print(f"{title} (whole nodes): {node_line}")
        reference_point, reference_text = _find_reference(axes, points, reference, runs)
    except MetricsError as error:
        console.print(f"{title}: {error}")
    else:
        scopes = {"": (points, reference_point)}
        if of_nodes := node_points.get(_find_entry(points, reference_point)):
            scopes = {
                "accelerators alone, ": (points, reference_point),
                "whole nodes, ": (node_points, of_nodes),
            }
        for scope, compared in scopes.items():
            console.print(f"{title}, {scope}against {reference_text}:")
            _print_gains(axes, *compared, item, console)
            _print_best_settings(axes, *compared, console)
    print_hills(axes, points, title, item, console)


def _find_entry(points: Mapping[Entry, Point], sought: Point) -> Entry:
    # By identity: two settings may have equal figures.
    return next(entry for entry, point in points.items() if point is sought)


def _print_gains(
    axes: Sequence[Axis],
    points: Mapping[Entry, Point],
    reference_point: Point,
    item: str,
    console: Console,
) -> None:
    columns = [axis.column for axis in axes]
    table = make_table(*columns, "runs", f"{pluralize_item(item)}/J", *GAINS)
    has_marks = False
    bases: set[Basis | None] = set()
    for entry, point in points.items():
        comparison = compare(point, reference_point)
        bases.add(comparison.basis)
        gains = [format_gain(get_gain(comparison)) for get_gain in GAINS.values()]
        has_marks |= any(gain.startswith(NOT_TOLD_APART) for gain in gains)
        table.add_row(
            *format_settings(axes, entry, point.cap_w, point.enforced),
            str(point.n),
            f"{point.items_per_joule:.4g}",
            *gains,
        )
    console.print(table)
    # All settings of a sweep have the same basis. The reference has none.
    for basis in bases - {None}:
        console.print(f"\u00b1: 95 % interval, {BASES[basis]}")
    if has_marks:
        console.print(f"{NOT_TOLD_APART}: not told apart from the reference")


def format_gain(gain: Estimate) -> str:
    """Format a gain for a table, with a mark if it is not told apart from zero, and with the
    half-width of its interval on a second line."""
    mark = NOT_TOLD_APART if excludes(gain.ci95, 0.0) is False else ""
    # Adding zero turns -0.0 into 0.0.
    mean = f"{mark}{round(gain.mean, 1) + 0:.1f}"
    return _add_half_width(mean, gain, 1)


def _add_half_width(mean: str, estimate: Estimate, decimals: int) -> str:
    """A mean as text, and on a second line the half-width of its interval, such as `±0.3`. A width
    that these decimals do not show has one significant digit."""
    if estimate.ci95 is None:
        return mean
    width = estimate.half_width
    form = f".{decimals}f" if width >= 0.5 * 10**-decimals else ".1g"
    return f"{mean}\n\u00b1{width:{form}}"


def _print_best_settings(
    axes: Sequence[Axis], points: Mapping[Entry, Point], reference_point: Point, console: Console
) -> None:
    """Print the best setting by each metric, and the settings that cannot be told from it. With a
    single comparable setting nothing is printed."""
    candidates = list_candidates(axes, points)
    if len(candidates) < 2:
        return
    # By identity: two settings may have equal figures.
    labels = {id(point): _describe(axes, entry) for entry, point in candidates.items()}
    best_settings = find_best_settings(list(candidates.values()), reference_point, SHOWN_EDS_K)
    table = Table(box=None, header_style="", pad_edge=False)
    table.add_column("best by", no_wrap=True)
    table.add_column("setting", no_wrap=True)
    table.add_column("gain", justify="right", no_wrap=True)
    table.add_column("cannot be told from")
    for best in best_settings:
        gain = format_gain(best.gain).replace("\n", " ")
        table.add_row(best.metric.label, labels[id(best.point)], gain, _list_others(best, labels))
    console.print(table)


def _list_others(best: BestSetting, labels: Mapping[int, str]) -> str:
    """The settings that cannot be told from the best one."""
    if best.not_told_apart is None:
        return "not known"
    others = [labels[id(point)] for point in best.not_told_apart if point is not best.point]
    return "; ".join(others) or "no other setting"


def list_candidates(axes: Sequence[Axis], points: Mapping[Entry, Point]) -> dict[Entry, Point]:
    """The settings that can be best. A cap must be known to have held if caps alone vary, else
    nothing may speak against it."""
    caps_alone = [axis.name for axis in axes] == [CAP.name]
    return {
        entry: point
        for entry, point in points.items()
        if point.plausible and (point.enforced if caps_alone else point.enforced is not False)
    }


def _describe_best(axes: Sequence[Axis], points: Mapping[Entry, Point], item: str) -> str | None:
    """Describe the most efficient setting in a sentence; None for a single one. Raises
    MetricsError if no run can be the peak."""
    if [axis.name for axis in axes] == [CAP.name]:
        return describe_peak(list(points.values()), item)
    candidates = list_candidates(axes, points)
    if len(candidates) < 2:
        return None
    efficient = max(candidates, key=lambda entry: candidates[entry].items_per_joule)
    fast = max(candidates, key=lambda entry: candidates[entry].items_per_s)
    least_j = candidates[efficient].joules_per_item
    least_text = f"least energy at {_describe(axes, efficient)} ({least_j:.4g} J/{item})"
    fast_text = f"most {pluralize_item(item)}/s at {_describe(axes, fast)}"
    if fast == efficient:
        return f"{least_text}, which has the most {pluralize_item(item)}/s too"
    more_percent = 100 * (candidates[fast].joules_per_item / least_j - 1)
    rate = candidates[fast].items_per_s
    return f"{least_text}; {fast_text} ({rate:.6g}), with {more_percent:.1f} % more energy"


def _describe_best_of_nodes(
    axes: Sequence[Axis],
    points: Mapping[Entry, Point],
    node_points: Mapping[Entry, Point],
    item: str,
) -> str | None:
    """Describe the setting with the least energy of whole nodes in a sentence; None unless node
    meters measured every run of two settings."""
    candidates = list_candidates(axes, points)
    joules = {e: p.joules_per_item for e, p in node_points.items() if e in candidates}
    if len(joules) < 2:
        return None
    best = min(joules, key=joules.__getitem__)
    unmeasured = len(candidates) - len(joules)
    missing = f"; {unmeasured} without figures of nodes" if unmeasured else ""
    return f"least energy at {_describe(axes, best)} ({joules[best]:.4g} J/{item}{missing})"


def describe_peak(points: Sequence[Point], item: str) -> str | None:
    """Describe the cap of highest efficiency in a sentence; None for a single cap. Raises
    MetricsError if no run can be the peak."""
    measured_peak, quadratic_peak = (
        find_measured_peak(points),
        fit_quadratic_peak(points),
    )
    if measured_peak.edge == "only":
        return (
            None
            if len(points) == 1
            else f"no efficiency peak: no other cap than {measured_peak.cap_w:g} W is known to "
            "have held"
        )
    efficiency = f"{measured_peak.items_per_joule.mean:.4g}"
    if measured_peak.beyond:
        return (
            f"most efficient at {measured_peak.cap_w:g} W ({efficiency} "
            f"{pluralize_item(item)}/J), {measured_peak.beyond}"
        )
    interpolation = ""
    if quadratic_peak:
        interval = ""
        if quadratic_peak.cap_ci95_w:
            low_w, high_w = quadratic_peak.cap_ci95_w
            interval = f", 95 % interval {low_w:.0f} to {high_w:.0f} W"
        elif quadratic_peak.items_per_joule.ci95:
            interval = ", which the spread of the runs leaves undetermined"
        interpolation = (
            f" (interpolated: {quadratic_peak.items_per_joule.mean:.4g} at "
            f"{quadratic_peak.cap_w:.0f} W{interval})"
        )
    return (
        f"efficiency peak {efficiency} {pluralize_item(item)}/J at "
        f"{measured_peak.cap_w:g} W{interpolation}"
    )


def _describe(axes: Sequence[Axis], entry: Entry) -> str:
    return ", ".join(axis.label(getattr(entry, axis.field)) for axis in axes)


def _find_reference(
    axes: Sequence[Axis],
    points: Mapping[Entry, Point],
    reference: Mapping[str, Value],
    runs: SettingRuns,
) -> tuple[Point, str]:
    """Return the point that the others are compared with, and its setting as text. Raises
    MetricsError if there is none."""
    values = dict(reference)
    if any(axis.name == CAP.name for axis in axes) and CAP.name not in values:
        default_w = common_default_cap_w(
            cap_w for results in runs.values() for run in results for cap_w in run.default_caps_w
        )
        if len(axes) == 1:
            text = f"the default cap of {default_w:g} W"
            return find_reference(list(points.values()), default_w), text
        values[CAP.name] = default_w
    text = ", ".join(axis.label(values.get(axis.name)) for axis in axes)
    for entry, point in points.items():
        if all(getattr(entry, axis.field) == values.get(axis.name) for axis in axes):
            if point.enforced is False or not point.plausible:
                raise MetricsError(
                    f"nothing is compared with the run at {text}: its cap did not hold, or its "
                    "throughput cannot be"
                )
            return point, text
    raise MetricsError(f"there is no run at {text} to compare with; run it too")


def print_scaling(
    runs: SettingRuns, axes: Sequence[Axis], ineffective_run_ids: Collection[str], console: Console
) -> None:
    """Print speed-up, efficiency and energy of several GPUs against one GPU at the same setting.
    `axes` are the settings beside the number of GPUs."""
    columns = [axis.column for axis in axes]
    table = make_table(*columns, "GPUs", "speed-up", "efficiency, %", "energy per item, ratio")
    try:
        points = make_points(runs, ineffective_run_ids)
        order = sorted(points, key=lambda entry: (sort_key(replace(entry, gpus=1)), entry.gpus))
        for entry in [entry for entry in order if entry.gpus > 1]:
            point, single = points[entry], points.get(replace(entry, gpus=1))
            if single is None:
                continue
            scaling = compute_scaling(point, entry.gpus, single)
            is_kept = False if False in (point.enforced, single.enforced) else None
            table.add_row(
                *format_settings(axes, entry, point.cap_w, is_kept),
                str(entry.gpus),
                *(
                    _add_half_width(f"{estimate.mean:.{decimals}f}", estimate, decimals)
                    for estimate, decimals in (
                        (scaling.speed_up, 2),
                        (scaling.efficiency_percent, 1),
                        (scaling.energy_per_item_ratio, 3),
                    )
                ),
            )
    except MetricsError as error:
        console.print(f"scaling: {error}")
        return
    if table.row_count:
        console.print("several GPUs against one at the same cap:")
        console.print(table)
    else:
        console.print("scaling: no cap was run both on one GPU and on several; include 1 in --gpus")


def sort_key(entry: Entry) -> tuple[object, ...]:
    """Return the key that sorts settings in tables."""
    others = (axis for axis in AXES.values() if axis not in (CAP, GPUS))
    values = [axis.read(entry) for axis in (GPUS, *others, CAP)]
    return (*((value is not None, value) for value in values), entry.repeat)


def make_table(*columns: str) -> Table:
    """Return a table without rows whose columns are aligned to the right."""
    table = Table(box=None, header_style="", pad_edge=False)
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def format_settings(
    axes: Sequence[Axis], entry: Entry, cap_w: float | None, is_kept: bool | None
) -> list[str]:
    """Return the cells of a setting. The cap, or the first axis without a cap, is in parentheses if
    the cap was not enforced."""
    values = [cap_w if axis.name == CAP.name else getattr(entry, axis.field) for axis in axes]
    cells = [
        (NO_CAP if axis.name == CAP.name else AS_FOUND)
        if value is None
        else f"{value:g}"
        if isinstance(value, float)
        else str(value)
        for axis, value in zip(axes, values, strict=True)
    ]
    place = next((n for n, axis in enumerate(axes) if axis.name == CAP.name), 0)
    if cells and is_kept is False:
        cells[place] = f"({cells[place]})"
    return cells
