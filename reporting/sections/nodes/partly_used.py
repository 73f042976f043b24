"""Runs on a part of the boards of a node, with the idle boards counted.

Their energy is never compared with that of wholly used nodes (rule N113), so they have a table of
their own.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reporting.quantities import quantity
from reporting.report_table import Column, ReportTable
from reporting.results_model import ResultRow
from reporting.sections.cells import (
    BundleLink,
    Cells,
    add_mark_columns,
    make_estimate_cells,
    make_mark_cells,
)
from reporting.sections.nodes.power import make_headline_point
from reporting.sections.section import Section
from reporting.sections.sweeps.caps import find_sweeps
from reporting.sections.sweeps.points import make_point
from rules.metrics.sweeps.gains import Comparison, compare
from rules.metrics.sweeps.points import Point, combine
from rules.metrics.sweeps.rest_of_node import add_rest_of_node
from rules.workloads import Workload

MakePoint = Callable[[ResultRow], Point | None]


@dataclass(frozen=True)
class PartlyUsed:
    """A run on a part of the boards of its nodes."""

    row: ResultRow
    used: int
    idle: int
    """The boards that did not take part."""


def build_partly_used_table(
    workload: Workload, rows: Sequence[ResultRow], link: BundleLink, id: str, title: str
) -> ReportTable | None:
    """The runs on a part of the boards of their nodes, by the number of boards; None unless the
    power of the idle boards or of the node is known of one."""
    runs = [
        run
        for row in rows
        if (run := find_partly_used(row)) and (_count_idle_boards(row) or _make_node_point(row))
    ]
    if not runs:
        return None
    runs.sort(key=lambda run: (run.used, run.row.system, run.row.cap_w or 0))
    gains = [
        _compare_caps([run.row for run in runs], make)
        for make in (make_point, _count_idle_boards, _make_node_point)
    ]
    cells = tuple(_make_cells(run, link, *gains) for run in runs)
    return ReportTable(id, title, _make_columns(workload.item), cells, ABOUT)


def find_partly_used(row: ResultRow) -> PartlyUsed | None:
    """The run of a row; None unless a node of it has boards that did not take part."""
    if row.provenance is None:
        return None
    run = row.provenance.run
    idle = sum(node.unused_accelerators for node in run.system.nodes)
    return PartlyUsed(row, len(run.accelerators), idle) if idle else None


def _count_idle_boards(row: ResultRow) -> Point | None:
    """The point of a run with the energy of the idle boards of its nodes; None where their power is
    not known, or where other work ran on one."""
    idle = row.provenance.run.idle if row.provenance else None
    point, run = make_point(row), find_partly_used(row)
    if idle is None or idle.unused_w is None or idle.busy_boards or point is None or run is None:
        return None
    # A board that was not read would be missing.
    return add_rest_of_node(point, idle.unused_w) if idle.unused_boards == run.idle else None


def _make_node_point(row: ResultRow) -> Point | None:
    """The point of a run with the energy of its nodes; None without it, and where the meters cover
    more than the nodes."""
    run = row.provenance.run if row.provenance else None
    if run is None or run.node is None:
        return None
    meters, nodes = run.system.meters_of_record, len(run.system.nodes)
    if any((m.nodes_covered or 0) > nodes or m.shared_psu for m in meters):
        return None
    return make_headline_point(row)


def _compare_caps(rows: Sequence[ResultRow], make: MakePoint) -> dict[str, Comparison]:
    """What the cap of each run saves against the default cap, by the id of the run, without runs of
    the default cap and those of no sweep."""
    comparisons = {}
    for sweep in find_sweeps(rows):
        points = {
            row.provenance.run.run_id: point
            for cap in sweep.caps
            for row in cap.rows
            if row.provenance and (point := make(row))
        }
        means = {point.cap_w: point for point in combine(list(points.values()))}
        reference = means.get(sweep.reference_cap_w)
        if reference is None or not reference.comparable:
            continue
        for run_id, point in points.items():
            if point.cap_w != sweep.reference_cap_w:
                comparisons[run_id] = compare(means[point.cap_w], reference)
    return comparisons


def _make_columns(item: str) -> tuple[Column, ...]:
    def gain(key: str, title: str, about: str) -> Column:
        return Column(key, title, "%", "signed", about=about, interval=True)

    return add_mark_columns(
        quantity("line", title="run"),
        Column("used", "boards used", "", "count"),
        Column("idle_boards", "idle boards", "", "count"),
        quantity("cap_w"),
        Column("joules_per_item", "energy of the used boards", f"J/{item}", "number"),
        Column("idle_w", "power of the idle boards", "W", "number", about="of all together"),
        Column("with_idle_joules_per_item", "energy with idle boards", f"J/{item}", "number"),
        Column(
            "idle_percent",
            "share of idle boards",
            "%",
            "number",
            3,
            about="of the energy of all boards",
        ),
        quantity("node_joules_per_item", unit=f"J/{item}", interval=False),
        gain("energy_gain_percent", "energy gain of the used boards", "against the default cap"),
        gain(
            "with_idle_energy_gain_percent",
            "energy gain with idle boards",
            "against the default cap",
        ),
        gain("node_energy_gain_percent", "energy gain of the node", "against the default cap"),
        Column(
            "node_gain_minus_extra_time_points",
            "gain \u2212 extra time of the node",
            "points",
            "signed",
            interval=True,
        ),
    )


ABOUT = (
    "These runs left boards of their nodes idle, so their energy is in no comparison with wholly "
    "used nodes. Idle boards draw power for as long as the run lasts: a lower cap saves less, and "
    "less still the fewer boards are used (Koszczał et al. 2023, figure 2 and section 5). Power of "
    "idle boards is the mean over the run that the harness states. It is left out where other work "
    "ran on one of them. Node energy is that of meters, with host and idle boards."
)


def _make_cells(
    run: PartlyUsed,
    link: BundleLink,
    of_boards: dict[str, Comparison],
    with_idle: dict[str, Comparison],
    of_node: dict[str, Comparison],
) -> Cells:
    row = run.row
    assert row.provenance is not None
    point, counted, node = make_point(row), _count_idle_boards(row), _make_node_point(row)
    idle, run_id = row.provenance.run.idle, row.provenance.run.run_id
    node_comparison = of_node.get(run_id)
    return {
        **make_mark_cells(row, link),
        "used": run.used,
        "idle_boards": run.idle,
        "joules_per_item": point.joules_per_item if point else None,
        "idle_w": idle.unused_w if idle and counted else None,
        "with_idle_joules_per_item": counted.joules_per_item if counted else None,
        "idle_percent": 100 * (1 - point.joules_per_item / counted.joules_per_item)
        if point and counted
        else None,
        "node_joules_per_item": node.joules_per_item if node else None,
        **_make_gain_cells("energy_gain_percent", of_boards.get(run_id)),
        **_make_gain_cells("with_idle_energy_gain_percent", with_idle.get(run_id)),
        **_make_gain_cells("node_energy_gain_percent", node_comparison),
        **make_estimate_cells(
            "node_gain_minus_extra_time_points",
            node_comparison.gain_minus_extra_time_points if node_comparison else None,
        ),
    }


def _make_gain_cells(key: str, comparison: Comparison | None) -> Cells:
    return make_estimate_cells(key, comparison.energy_gain_percent if comparison else None)


SECTION = Section(
    name="partly",
    place=155,
    build_of_workload=lambda part: [
        build_partly_used_table(
            *part.describe_runs("partly", f"partly used nodes{part.not_compared}")
        )
    ],
    demo_place=155,
)
