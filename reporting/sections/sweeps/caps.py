"""Power-cap sweeps: energy gain and extra time of each cap relative to the default cap."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reporting.quantities import quantity
from reporting.report_table import Column, ReportTable
from reporting.results_model import ResultRow, name_submitted_line
from reporting.sections.cells import (
    FACET_COLUMNS,
    BundleLink,
    Cells,
    add_facet_columns,
    distinguish_names,
    make_estimate_cells,
    make_facet_cells,
)
from reporting.sections.section import Section, WorkloadInput
from reporting.sections.sweeps.gains import (
    ComparedSettings,
    build_settings_table,
    list_not_told_apart,
    make_gain_cells,
    make_gain_columns,
)
from reporting.sections.sweeps.points import (
    POINT_MARK_COLUMNS,
    make_point,
    make_point_cells,
    make_point_columns,
)
from reporting.sections.sweeps.same_boards import build_same_boards_table
from rules.bundle_findings import are_clocks_changed
from rules.declarations.run import RunDeclaration
from rules.metrics.energy import MetricsError
from rules.metrics.sweeps.gains import Comparison, compare
from rules.metrics.sweeps.peaks import Peak, find_measured_peak, fit_quadratic_peak
from rules.metrics.sweeps.points import Point, combine, common_default_cap_w, find_reference
from rules.workloads import Workload


@dataclass(frozen=True)
class SweepPoint:
    """The runs at one cap of a sweep. Several runs are combined
    (`rules.metrics.sweeps.points.combine`)."""

    point: Point
    rows: tuple[ResultRow, ...]
    comparison: Comparison | None
    """Relative to the default cap; None if there is no run to compare with."""
    best: bool
    """Whether it is the most efficient comparable cap."""

    @property
    def limits_w(self) -> tuple[float, ...]:
        """The power limits that were read back, each once."""
        return tuple(sorted({w for row in self.rows for w in row.limits_w}))


@dataclass(frozen=True)
class CapSweep:
    """Runs of one kind (`rules.run_summary.submission_key`) at two or more caps, by cap."""

    kind: tuple[object, ...]
    """What all its runs have in common."""
    name: str
    """The name of its line in the charts and of its rows; unique within a section of the page."""
    model: str
    caps: tuple[SweepPoint, ...]
    reference_cap_w: float | None
    """The cap that the others are compared with: the default cap, unless the sweep declares
    another one."""
    has_declared_reference: bool
    not_compared: str | None
    """The reason if there is no comparison with the default cap, else None."""
    peak: Peak | None
    quadratic: Peak | None

    @property
    def compared_settings(self) -> ComparedSettings | None:
        """Its points as settings; None if they have no reference."""
        points = {f"{cap.point.cap_w:g} W": cap.point for cap in self.caps if cap.point.comparable}
        reference = points.get(f"{self.reference_cap_w:g} W") if self.reference_cap_w else None
        return (
            None
            if self.not_compared or reference is None
            else ComparedSettings(
                self.kind,
                self.name,
                points,
                reference,
                {f"{cap.point.cap_w:g} W": cap.rows for cap in self.caps},
            )
        )

    @property
    def repeated(self) -> bool:
        """Whether there are several runs at a cap."""
        return any(cap.point.n > 1 for cap in self.caps)


def find_sweeps(rows: Sequence[ResultRow]) -> list[CapSweep]:
    """The sweeps among the rows, by name. `rows` are either submitted rows or demo rows."""
    runs_by_kind: dict[tuple[object, ...], list[ResultRow]] = {}
    for row in rows:
        if row.cap_w is not None and row.provenance and row.mean_power_w and make_point(row):
            # With changed clocks, the clock and not the cap may limit. Such runs are kept apart.
            clocks_changed = are_clocks_changed(row.provenance.findings)
            runs_by_kind.setdefault((*row.provenance.run.kind, clocks_changed), []).append(row)
    # A single cap is not a sweep.
    groups = {
        kind: runs for kind, runs in runs_by_kind.items() if len({row.cap_w for row in runs}) > 1
    }
    first_rows = [runs[0] for runs in groups.values()]
    names = distinguish_names([name_submitted_line(row) for row in first_rows], first_rows)
    sweeps = map(_build_sweep, groups, groups.values(), names)
    return sorted(sweeps, key=lambda sweep: sweep.name)


def _build_sweep(kind: tuple[object, ...], rows: Sequence[ResultRow], name: str) -> CapSweep:
    points = combine([point_of_row for row in rows if (point_of_row := make_point(row))])
    runs = [row.provenance.run.declaration for row in rows if row.provenance]
    reference_w, reference_point, no_comparison_reason = _find_reference(points, runs)
    peak, quadratic_peak = _find_peaks(points)
    caps = []
    for point in points:
        caps.append(
            SweepPoint(
                point=point,
                rows=tuple(row for row in rows if row.cap_w == point.cap_w),
                comparison=compare(point, reference_point) if reference_point else None,
                # If only one cap is comparable, calling it the best would mean nothing.
                best=peak is not None and peak.edge != "only" and point.cap_w == peak.cap_w,
            )
        )
    return CapSweep(
        kind=kind,
        name=name,
        model=rows[0].model,
        caps=tuple(caps),
        reference_cap_w=reference_w,
        has_declared_reference=_find_declared_cap_w(runs) is not None,
        not_compared=no_comparison_reason,
        peak=peak,
        quadratic=quadratic_peak,
    )


def _find_peaks(points: Sequence[Point]) -> tuple[Peak | None, Peak | None]:
    try:
        return find_measured_peak(points), fit_quadratic_peak(points)
    except MetricsError:  # no run is comparable
        return None, None


def _find_reference(
    points: Sequence[Point], runs: Sequence[RunDeclaration]
) -> tuple[float | None, Point | None, str | None]:
    """The default cap, or the cap that all runs declare as the reference; the point at it; and the
    reason if there is no point to compare with."""
    declared_w = _find_declared_cap_w(runs)
    try:
        # Boards of different default caps have no common reference.
        default_w = (
            declared_w
            if declared_w is not None
            else common_default_cap_w(cap_w for run in runs for cap_w in run.default_caps_w)
        )
    except MetricsError as error:
        return None, None, str(error)
    try:
        return default_w, find_reference(points, default_w), None
    except MetricsError as error:
        return default_w, None, str(error)


def _find_declared_cap_w(runs: Sequence[RunDeclaration]) -> float | None:
    """The reference cap that all runs declare with their sweep; None without one."""
    caps_w = {(run.sweep.reference or {}).get("cap") if run.sweep else None for run in runs}
    (cap_w,) = caps_w if len(caps_w) == 1 else (None,)
    return None if cap_w is None else float(cap_w)


def build_sweep_table(
    workload: Workload, cap_sweeps: Sequence[CapSweep], link: BundleLink, id: str, title: str
) -> ReportTable:
    """Gains and extra time at each cap of each sweep."""
    columns = _make_sweep_columns(workload.item)
    return ReportTable(
        id,
        title,
        columns,
        tuple(_make_sweep_cells(cap, sweep, link) for sweep in cap_sweeps for cap in sweep.caps),
        ABOUT,
    )


def _make_sweep_columns(item: str) -> tuple[Column, ...]:
    return add_facet_columns(
        Column("line", "sweep"),
        quantity("cap_w"),
        Column(
            "default",
            "default",
            hidden=True,
            about="whether this is the default cap, the reference of the sweep",
        ),
        quantity("in_force_w"),
        *make_point_columns(item),
        *make_gain_columns(item, "at the default cap"),
        Column("best", "best", hidden=True, about="most efficient cap among the comparable ones"),
        *POINT_MARK_COLUMNS,
    )


ABOUT = (
    "A sweep is a set of runs that differ only in their power cap. Gain and extra time compare the "
    "same work with the run at the default cap of the board: a positive gain is better, a "
    "positive extra time is worse. EDP is energy times time; EDS is a weighted sum of energy and "
    "time. Several runs at one cap are averaged. Intervals of 95 % come from the spread between "
    "repeated runs where the sweep has any, else from the epochs of the single runs. They hold for "
    "one setting at a time."
)


def _make_sweep_cells(cap_point: SweepPoint, sweep: CapSweep, link: BundleLink) -> Cells:
    return {
        **make_point_cells(cap_point.point, cap_point.rows, link),
        "line": sweep.name,
        "default": cap_point.point.cap_w == sweep.reference_cap_w,
        "in_force_w": ", ".join(f"{w:g}" for w in cap_point.limits_w) or None,
        **make_gain_cells(cap_point.comparison),
        "best": cap_point.best,
        "note": ", ".join(_list_notes(cap_point, sweep)) or None,
    }


def _list_notes(cap_point: SweepPoint, sweep: CapSweep) -> Iterator[str]:
    if cap_point.point.cap_w == sweep.reference_cap_w:
        yield "reference" if sweep.has_declared_reference else "default cap"
    if cap_point.best and sweep.peak:
        yield "most efficient" if sweep.peak.edge else "peak"
    if cap_point.comparison and (names := list_not_told_apart(cap_point.comparison)):
        yield f"not told apart from the reference: {', '.join(names)}"


_FACETS_OF_CAPS = ("cap_w", "status")
"""The facets in which the caps of a sweep differ."""


def build_peak_table(
    workload: Workload, cap_sweeps: Sequence[CapSweep], id: str, title: str
) -> ReportTable:
    """The most efficient cap of each sweep."""
    item = workload.item
    columns = (
        Column("line", "sweep"),
        Column(
            "default_cap_w",
            "reference cap",
            "W",
            "count",
            about="the default cap, unless the sweep declares another one",
        ),
        Column("peak_cap_w", "most efficient cap", "W", "count", about="among the measured caps"),
        Column(
            "peak_items_per_joule",
            "efficiency at that cap",
            f"{item}s/J",
            "number",
            interval=True,
        ),
        Column(
            "quadratic_cap_w",
            "interpolated peak",
            "W",
            "number",
            3,
            about="vertex of a parabola through three runs; not measured",
            interval=True,
        ),
        Column(
            "quadratic_items_per_joule",
            "interpolated efficiency",
            f"{item}s/J",
            "number",
            interval=True,
        ),
        Column("note", "note"),
        *(column for column in FACET_COLUMNS if column.key not in _FACETS_OF_CAPS),
    )
    about = (
        "The peak is the most efficient run. If it is at the lowest or highest comparable cap, "
        "the true peak may lie outside the sweep. The interpolated peak is the vertex of a "
        "parabola through that run and its two neighbours; no run was made there."
    )
    cells = tuple(map(_make_peak_cells, cap_sweeps))
    identities = tuple(sweep.kind for sweep in cap_sweeps)
    return ReportTable(id, title, columns, cells, about, identities=identities)


def _make_peak_cells(sweep: CapSweep) -> Cells:
    peak, quadratic_peak = sweep.peak, sweep.quadratic
    notes = [f"no gains: {sweep.not_compared}"] if sweep.not_compared else []
    if peak is None:
        notes.append("no peak: no cap is known to have held")
    elif peak.edge == "only":
        notes.append(f"no peak: no other cap than {peak.cap_w:g} W is known to have held")
    elif peak.beyond:
        notes.append(peak.beyond)
    if quadratic_peak and quadratic_peak.items_per_joule.ci95 and not quadratic_peak.cap_ci95_w:
        notes.append("the runs do not bound the cap of the interpolated peak")
    has_peak = peak is not None and peak.edge != "only"
    facets = make_facet_cells(sweep.caps[0].rows[0])
    low_w, high_w = (quadratic_peak.cap_ci95_w if quadratic_peak else None) or (None, None)
    return {
        **{key: value for key, value in facets.items() if key not in _FACETS_OF_CAPS},
        "line": sweep.name,
        "default_cap_w": sweep.reference_cap_w,
        "peak_cap_w": peak.cap_w if peak and has_peak else None,
        **make_estimate_cells(
            "peak_items_per_joule", peak.items_per_joule if peak and has_peak else None
        ),
        "quadratic_cap_w": quadratic_peak.cap_w if quadratic_peak else None,
        "quadratic_cap_w_low": low_w,
        "quadratic_cap_w_high": high_w,
        "quadratic_cap_w_n": quadratic_peak.items_per_joule.n if quadratic_peak else None,
        **make_estimate_cells(
            "quadratic_items_per_joule", quadratic_peak.items_per_joule if quadratic_peak else None
        ),
        "note": "; ".join(notes) or None,
    }


def _build_tables(part: WorkloadInput) -> Iterator[ReportTable]:
    if sweeps := find_sweeps(part.runs):
        title = part.make_title(f"power-cap sweep{part.not_compared}")
        yield build_sweep_table(part.workload, sweeps, part.link, f"{part.id}-sweeps", title)
        title = part.make_title("efficiency peaks")
        yield build_peak_table(part.workload, sweeps, f"{part.id}-peaks", title)


def _build_compared_tables(part: WorkloadInput) -> Iterator[ReportTable | None]:
    sweeps = find_sweeps(part.runs)
    compared = [settings for sweep in sweeps if (settings := sweep.compared_settings)]
    title = part.make_title("best setting by metric")
    yield build_settings_table(compared, f"{part.id}-settings", title)
    title = part.make_title("caps on the same boards")
    yield build_same_boards_table(compared, part.spread, f"{part.id}-cap-boards", title)


SECTION = Section(
    name="sweeps",
    other_names=("peaks",),
    place=80,
    build_of_workload=_build_tables,
    demo_place=80,
    is_for_nodes=True,
)
COMPARED_SECTION = Section(
    name="settings",
    other_names=("cap-boards",),
    place=100,
    build_of_workload=_build_compared_tables,
    demo_place=100,
    is_for_nodes=True,
)
