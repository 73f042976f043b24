"""Sweeps over other settings than the cap: batch size, requests in flight, locked SM clock,
accelerators, precision and variant."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from reporting.report_table import Column, ReportTable
from reporting.results_model import ResultRow, format_accelerator_count, name_submitted_line
from reporting.run_record import RunRecord
from reporting.sections.cells import (
    BundleLink,
    Cells,
    add_facet_columns,
    distinguish_names,
    find_boards,
)
from reporting.sections.repeats import ReportSpread
from reporting.sections.sweeps.gains import (
    ComparedSettings,
    build_settings_table,
    list_not_told_apart,
    make_gain_cells,
    make_gain_columns,
)
from reporting.sections.sweeps.points import (
    POINT_MARK_COLUMNS,
    has_point,
    make_point,
    make_point_cells,
    make_point_columns,
)
from reporting.sections.sweeps.same_boards import build_same_boards_table, find_least_energy
from rules.bundle_findings import are_clocks_changed
from rules.metrics.sweeps.gains import compare
from rules.metrics.sweeps.points import Point, average_settings
from rules.run_summary import SubmissionKey
from rules.settings import SETTINGS, SHOWN_SETTINGS, list_axis_settings
from rules.workloads import Workload, workloads

Value = int | str


@dataclass(frozen=True)
class SweptAxis:
    """A setting that the runs of a sweep vary."""

    name: str
    """As bundles name it (`sweep.axes` of result.json)."""
    title: str
    unit: str
    read: Callable[[ResultRow], Value | None]
    """The value of a run; None without one."""
    is_declared: bool
    """Whether only runs that name the axis are a sweep. Other runs that differ in this setting are
    results of their own, except for variants that differ in precision only."""


def _read_setting(key: str, row: ResultRow) -> Value | None:
    value: Value | None = row.settings.get(key)
    return value


AXES = (
    SweptAxis("batch", "batch size", "samples per accelerator", lambda row: row.batch_size, False),
    SweptAxis("concurrency", "requests in flight", "", lambda row: row.batch_size, False),
    *(
        SweptAxis(axis, display.head, setting.unit, partial(_read_setting, setting.key), False)
        for setting, display in SHOWN_SETTINGS
        for axis in setting.axes
    ),
    SweptAxis("gpus", "accelerators", "", lambda row: row.count, True),
    SweptAxis("precision", "precision", "", lambda row: row.precision, True),
    SweptAxis("variant", "variant", "", lambda row: row.variant, True),
)


@dataclass(frozen=True)
class AxisPoint:
    """The runs at one value of an axis."""

    value: Value | None
    point: Point
    rows: tuple[ResultRow, ...]

    @property
    def label(self) -> str:
        return "none" if self.value is None else str(self.value)


@dataclass(frozen=True)
class AxisSweep:
    """Runs that differ in the value of one axis only."""

    kind: tuple[object, ...]
    """What all its runs have in common."""
    name: str
    """The name of its line in the charts; unique within its table."""
    points: tuple[AxisPoint, ...]
    """By ascending value."""
    reference: Point | None
    """The point that the others are compared with; None without a comparable one."""
    reference_value: Value | None

    @property
    def compared_settings(self) -> ComparedSettings | None:
        """Its comparable points as settings; None without a reference."""
        if self.reference is None:
            return None
        points = {p.label: p.point for p in self.points if _is_comparable(p.point)}
        rows = {p.label: p.rows for p in self.points}
        return ComparedSettings(self.kind, self.name, points, self.reference, rows)

    @property
    def reference_boards(self) -> frozenset[str]:
        """The boards of the runs at the value of the reference."""
        return find_boards(
            row for p in self.points if p.value == self.reference_value for row in p.rows
        )

    def find_best(self, spread: ReportSpread | None) -> AxisPoint | None:
        """The most efficient comparable point; None if there are no two to choose from."""
        candidates = [p for p in self.points if _is_comparable(p.point)]
        return choose_least_energy(candidates, spread) if len(candidates) > 1 else None


def choose_least_energy(points: Sequence[AxisPoint], spread: ReportSpread | None) -> AxisPoint:
    """The point with the least energy per item: on the same boards if these connect all points,
    else by the means over all runs."""
    label = find_least_energy({p.label: p.rows for p in points}, spread)
    if label is None:
        return min(points, key=lambda p: p.point.joules_per_item)
    return next(p for p in points if p.label == label)


def build_axis_tables(
    workload: Workload,
    rows: Sequence[ResultRow],
    link: BundleLink,
    id: str,
    prefix: str,
    spread: ReportSpread | None,
) -> Iterator[ReportTable]:
    """The tables of each axis over which there is a sweep. `rows` are either submitted rows or demo
    rows. Without `spread`, they are not compared on the same boards."""
    # The batch size of a server is its number of requests in flight.
    left_out = "batch" if workload.mode == "inference" else "concurrency"
    for axis in AXES:
        if axis.name != left_out and (sweeps := find_axis_sweeps(axis, rows)):
            suffix = ", not compared" if prefix else ""
            title = f"{workload.title}: {prefix}sweep over {axis.title}{suffix}"
            yield _build_table(workload, axis, sweeps, link, f"{id}-{axis.name}", title, spread)
            compared = [settings for sweep in sweeps if (settings := sweep.compared_settings)]
            settings_table = build_settings_table(
                compared,
                f"{id}-{axis.name}-settings",
                f"{workload.title}: {prefix}best {axis.title} by metric",
            )
            boards_table = build_same_boards_table(
                compared,
                spread,
                f"{id}-{axis.name}-boards",
                f"{workload.title}: {prefix}{axis.title} on the same boards",
            )
            yield from (table for table in (settings_table, boards_table) if table is not None)


def find_axis_sweeps(axis: SweptAxis, rows: Sequence[ResultRow]) -> list[AxisSweep]:
    """The sweeps over an axis among the rows, by name."""
    groups: dict[tuple[object, ...], list[ResultRow]] = {}
    for row in rows:
        if row.provenance is None or row.mean_power_w is None or not has_point(row):
            continue
        if row.provenance.newer:
            continue
        clocks_changed = axis.name != "sm-clock" and are_clocks_changed(row.provenance.findings)
        key = (row.cap_w, clocks_changed, *_drop_axis(row.provenance.run, axis))
        groups.setdefault(key, []).append(row)
    runs_by_kind = {kind: _select_runs(axis, group) for kind, group in groups.items()}
    sweeps = [
        _build_sweep(axis, kind, runs)
        for kind, runs in runs_by_kind.items()
        if len({axis.read(row) for row in runs}) > 1
    ]
    names = distinguish_names(
        [sweep.name for sweep in sweeps], [sweep.points[0].rows[0] for sweep in sweeps]
    )
    named_sweeps = [replace(sweep, name=name) for sweep, name in zip(sweeps, names, strict=True)]
    return sorted(named_sweeps, key=lambda sweep: sweep.name)


def _drop_axis(run: RunRecord, axis: SweptAxis) -> SubmissionKey:
    """What the axis leaves unchanged of the kind of a run."""
    label = run.declaration.sweep
    has_default = label is None or "concurrency" not in (label.axes or ())
    varied = list_axis_settings([axis.name], run.requests is not None and has_default)
    return run.kind._replace(configuration=run.kind.configuration.without(varied))


def _select_runs(axis: SweptAxis, rows: Sequence[ResultRow]) -> Sequence[ResultRow]:
    """The runs that a sweep over the axis has, of runs that differ in its settings only."""
    declaring_rows = [row for row in rows if _names_axis(row, axis)]
    if axis.name == "precision":
        pairs = {*workloads()[rows[0].workload].precision_variants}
        declared = {row.variant for row in declaring_rows}
        variants = pairs if declared <= pairs else declared
        return [row for row in rows if row.variant in variants]
    return rows if declaring_rows or not axis.is_declared else ()


def _names_axis(row: ResultRow, axis: SweptAxis) -> bool:
    label = row.provenance.run.declaration.sweep if row.provenance else None
    return label is not None and axis.name in (label.axes or ())


def _build_sweep(axis: SweptAxis, kind: tuple[object, ...], rows: Sequence[ResultRow]) -> AxisSweep:
    rows_by_value: dict[Value | None, list[ResultRow]] = {}
    # Runs without a value, such as those without a locked clock, come first.
    for row in sorted(rows, key=lambda row: _sort_key(axis.read(row))):
        rows_by_value.setdefault(axis.read(row), []).append(row)
    points = average_settings(
        [[p for row in runs if (p := make_point(row))] for runs in rows_by_value.values()]
    )
    axis_points = tuple(
        AxisPoint(value, point, tuple(rows_by_value[value]))
        for value, point in zip(rows_by_value, points, strict=True)
    )
    reference_value = _find_reference_value(axis, rows, axis_points[0].value)
    reference = next(
        (p.point for p in axis_points if p.value == reference_value and _is_comparable(p.point)),
        None,
    )
    return AxisSweep(kind, _name_sweep(axis, rows[0]), axis_points, reference, reference_value)


def _sort_key(value: Value | None) -> tuple[bool, Any]:
    return value is not None, value


def _find_reference_value(
    axis: SweptAxis, rows: Sequence[ResultRow], lowest: Value | None
) -> Value | None:
    """The reference that all sweeps of the runs declare, or else the lowest value."""
    declared = set()
    for row in rows:
        label = row.provenance.run.declaration.sweep if row.provenance else None
        if label is not None and _names_axis(row, axis):
            declared.add((label.reference or {}).get(axis.name))
    (reference,) = declared if len(declared) == 1 else (lowest,)
    return reference if isinstance(reference, int | str | None) else lowest


def _is_comparable(point: Point) -> bool:
    """A machine without caps cannot show that one held."""
    return point.enforced is not False and point.plausible


def _name_sweep(axis: SweptAxis, row: ResultRow) -> str:
    others = {s.key: row.settings.get(s.key) for s in SETTINGS if axis.name not in s.axes}
    fixed_row = replace(row, settings=others, count=None if axis.name == "gpus" else row.count)
    name = name_submitted_line(fixed_row)
    if axis.name in ("precision", "variant"):
        name = f"{row.system}{format_accelerator_count(row)}"
    return name if row.cap_w is None else f"{name} · {row.cap_w:g} W"


ABOUT = (
    "A sweep is a set of runs that differ only in this setting. Gain and extra time compare the "
    "same work with the run at the reference, which the sweep declares; without a declaration it "
    "is the lowest value. A positive gain is better, a positive extra time is worse. Several runs "
    "at one value are averaged. Intervals of 95 % come from the spread between repeated runs where "
    "the sweep has any, else from the epochs of the single runs. They do not contain the "
    "difference between boards: judge values on other boards than the reference by the board "
    "spread, or by the table on the same boards if there is one."
)


def _build_table(
    workload: Workload,
    axis: SweptAxis,
    sweeps: Sequence[AxisSweep],
    link: BundleLink,
    id: str,
    title: str,
    spread: ReportSpread | None,
) -> ReportTable:
    item = workload.item
    is_number = any(isinstance(p.value, int) for sweep in sweeps for p in sweep.points)
    columns = add_facet_columns(
        Column("line", "sweep"),
        Column("value", axis.title, axis.unit, "count" if is_number else "text"),
        *make_point_columns(item),
        *make_gain_columns(item, "at the reference"),
        Column("best", "best", hidden=True, about="most efficient value among the comparable ones"),
        *POINT_MARK_COLUMNS,
    )
    cells = []
    for sweep in sweeps:
        best = sweep.find_best(spread)
        cells += [_make_cells(sweep, point, point is best, link) for point in sweep.points]
    return ReportTable(id, title, columns, tuple(cells), ABOUT)


def _make_cells(sweep: AxisSweep, axis_point: AxisPoint, is_best: bool, link: BundleLink) -> Cells:
    point = axis_point.point
    comparison = compare(point, sweep.reference) if sweep.reference else None
    notes = []
    if axis_point.value == sweep.reference_value:
        notes.append("reference" if sweep.reference else "reference, not comparable")
    if is_best:
        least_j = min(p.point.joules_per_item for p in sweep.points if _is_comparable(p.point))
        is_least = point.joules_per_item == least_j
        notes.append("least energy" if is_least else "least energy on the same boards")
    if sweep.reference and sweep.reference_boards.isdisjoint(find_boards(axis_point.rows)):
        notes.append("on other boards than the reference")
    if comparison and (names := list_not_told_apart(comparison)):
        notes.append(f"not told apart from the reference: {', '.join(names)}")
    return {
        **make_point_cells(point, axis_point.rows, link),
        "line": sweep.name,
        "value": axis_point.value,
        **make_gain_cells(comparison),
        "best": is_best,
        "note": ", ".join(notes) or None,
    }
