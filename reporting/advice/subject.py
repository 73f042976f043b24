"""What advice is about: a sweep over caps, with the power of its nodes at each cap."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from reporting.collect import Collected
from reporting.quantities import describe_provenance
from reporting.results_model import ResultRow
from reporting.sections.nodes.scope import select_node_rows
from reporting.sections.sweeps.caps import CapSweep, find_sweeps
from reporting.sentences.choice import group_published_series
from rules.metrics.sweeps.filled_racks import NodeAtCap
from rules.metrics.sweeps.points import Point, get_cap_w
from rules.metrics.sweeps.rest_of_node import add_rest_of_node, assume_rest_of_node_w

Basis = Literal["measured", "rated"]
"""The power by which racks are planned: the highest mean over 60 s, or the rated power."""


@dataclass(frozen=True)
class Subject:
    """A sweep over caps in one scope of energy."""

    name: str
    workload: str
    standing: str
    provenance: str
    """`measured`, `simulated` or `published`."""
    scope: str
    """What the energy is that of, as the end of a sentence."""
    is_of_nodes: bool
    """Whether node meters measured it."""
    boards: int
    """The boards whose throughput it is."""
    points: tuple[Point, ...]
    """The comparable ones, by cap."""
    reference: Point | None
    """None without a comparable point at the reference cap."""
    not_compared: str | None
    """Why there is no reference."""
    rows: tuple[ResultRow, ...]
    """The runs behind the points."""
    nodes: tuple[NodeAtCap, ...] = ()
    """A whole node at the cap of each point; empty where racks cannot be planned."""
    no_rack: str = ""
    """Why racks cannot be planned; empty if they can."""
    planned_by: str = ""
    """The power of a node by which racks are planned, in words."""
    unmetered_w: tuple[float, ...] = ()
    """Caps of the sweep that no node meter measured, where the others are of nodes."""
    is_short: bool = False
    """Whether the runs are too short for a mean over 60 s."""


def list_subjects(
    collected: Collected, workload: str, basis: Basis, beside_w: float | None
) -> list[Subject]:
    """The sweeps of a workload: measured ones, then simulated ones, then published ones.
    `beside_w` is the power of a node beside its boards, for sweeps without a node meter."""
    rows = [row for row in collected.all_rows if row.workload == workload]
    subjects = []
    for standings in (("closed", "open"), ("demo",)):
        chosen = [row for row in rows if row.provenance and row.standing in standings]
        node_sweeps = {sweep.kind: sweep for sweep in find_sweeps(select_node_rows(chosen))}
        for sweep in find_sweeps(chosen):
            node_sweep = node_sweeps.get(sweep.kind)
            if node_sweep and not node_sweep.not_compared:
                subject = _make_node_subject(node_sweep, sweep, basis)
            else:
                subject = _make_board_subject(sweep, basis, beside_w)
            subjects.append(subject)
    accelerators = {paper.id: paper.accelerators_per_run or 1 for paper in collected.papers}
    for (source, model), series in group_published_series(rows).items():
        count = accelerators.get(series[0].paper or "", 1)
        if len({row.cap_w for row in series}) > 1:
            subjects.append(_make_published_subject(source, model, series, count, beside_w))
    return subjects


def _make_node_subject(node_sweep: CapSweep, sweep: CapSweep, basis: Basis) -> Subject:
    subject = _start_subject(node_sweep, "whole nodes, by their meters", is_of_nodes=True)
    metered = {cap.point.cap_w for cap in node_sweep.caps}
    subject = replace(
        subject,
        unmetered_w=tuple(
            get_cap_w(cap.point) for cap in sweep.caps if cap.point.cap_w not in metered
        ),
    )
    return _add_nodes(subject, basis, [_find_node_power_w(subject, p) for p in subject.points], 0.0)


def _make_board_subject(sweep: CapSweep, basis: Basis, beside_w: float | None) -> Subject:
    subject = _start_subject(sweep, "the boards alone, without the rest of the node")
    boards = _count_boards(subject.rows[0])
    assumed_w = assume_rest_of_node_w(boards) if beside_w is None else beside_w
    powers_w = [_find_board_power_w(subject, point) for point in subject.points]
    subject = _add_nodes(subject, basis, powers_w, assumed_w)
    return subject if beside_w is None else _add_rest(subject, beside_w, _count_nodes(subject))


def _start_subject(sweep: CapSweep, scope: str, is_of_nodes: bool = False) -> Subject:
    row = sweep.caps[0].rows[0]
    points = tuple(cap.point for cap in sweep.caps if cap.point.comparable)
    compared = sweep.compared_settings
    return Subject(
        name=sweep.name,
        workload=row.workload,
        standing=row.standing,
        provenance=describe_provenance(row),
        scope=scope,
        is_of_nodes=is_of_nodes,
        boards=row.count or 1,
        points=points,
        reference=compared.reference if compared else None,
        not_compared=None if compared else sweep.not_compared or "no cap is known to have held",
        rows=tuple(row for cap in sweep.caps for row in cap.rows),
    )


def _add_rest(subject: Subject, beside_w: float, nodes: int) -> Subject:
    """The subject with the energy of an assumed rest of each node."""
    added = {point: add_rest_of_node(point, nodes * beside_w) for point in subject.points}
    return replace(
        subject,
        scope=f"the boards and {beside_w:g} W that each node is assumed to draw beside them",
        points=tuple(added.values()),
        reference=added.get(subject.reference) if subject.reference else None,
    )


def _count_boards(row: ResultRow) -> int:
    """The boards of one node of a run."""
    assert row.provenance is not None
    run = row.provenance.run
    return len(run.accelerators) // len(run.system.nodes)


def _count_nodes(subject: Subject) -> int:
    provenance = subject.rows[0].provenance
    return len(provenance.run.system.nodes) if provenance else 1


def _select_rows(subject: Subject, point: Point) -> Iterator[ResultRow]:
    return (row for row in subject.rows if row.cap_w == point.cap_w)


def _find_node_power_w(subject: Subject, point: Point) -> tuple[float, bool]:
    """The highest mean over 60 s of all nodes together in the runs at a cap, or their highest mean
    over 1 s, and whether it is the former."""
    nodes = [row.provenance.run.node for row in _select_rows(subject, point) if row.provenance]
    minutes_w = [node.max_60s_power_w for node in nodes if node]
    known_w = [power_w for power_w in minutes_w if power_w is not None]
    if len(known_w) == len(minutes_w):
        return max(known_w), True
    return max(node.max_power_w for node in nodes if node), False


def _find_board_power_w(subject: Subject, point: Point) -> tuple[float, bool]:
    """The same of all boards together. In runs that are too short, they are taken at their cap."""
    runs = [row.provenance.run for row in _select_rows(subject, point) if row.provenance]
    minutes_w = [run.activity.max_60s_power_w for run in runs]
    known_w = [power_w for power_w in minutes_w if power_w is not None]
    if len(known_w) == len(minutes_w):
        return max(known_w), True
    return get_cap_w(point) * len(runs[0].accelerators), False


def _add_nodes(
    subject: Subject, basis: Basis, powers_w: Sequence[tuple[float, bool]], beside_w: float
) -> Subject:
    """The subject with a whole node at each cap. `powers_w` are those of all nodes together."""
    if reason := _find_unused(subject.rows[0]):
        return replace(subject, no_rack=reason)
    count = _count_nodes(subject)
    provenance = subject.rows[0].provenance
    assert provenance is not None
    rated_w = provenance.run.system.nodes[0].rated_w
    if basis == "rated" and rated_w is None:
        reason = "the bundles state no rated power; declare rated_w in [node] of system.toml"
        return replace(subject, no_rack=reason)
    is_short = not all(is_minute for _, is_minute in powers_w)
    nodes = [
        NodeAtCap(
            replace(point, items_per_s=point.items_per_s / count),
            rated_w if basis == "rated" and rated_w else power_w / count + beside_w,
            point.joules_per_item * point.items_per_s / count + beside_w,
        )
        for point, (power_w, _) in zip(subject.points, powers_w, strict=True)
    ]
    return replace(
        subject,
        nodes=tuple(nodes),
        planned_by=_describe_plan(subject, basis, beside_w, is_short),
        is_short=is_short and basis == "measured",
    )


def _find_unused(row: ResultRow) -> str:
    """Why the nodes of a run are not wholly used; empty if they are."""
    assert row.provenance is not None
    for node in row.provenance.run.system.nodes:
        used, installed = len(node.accelerators), node.accelerators_installed
        if installed is None:
            return "the bundles do not state how many boards the node has"
        if installed != used:
            return f"the runs used {used} of the {installed} boards of the node"
    return ""


def _describe_plan(subject: Subject, basis: Basis, beside_w: float, is_short: bool) -> str:
    boards = _count_boards(subject.rows[0])
    if basis == "rated":
        return "the rated power of the node, at every cap"
    if subject.is_of_nodes:
        length = "1 s, for lack of 60 s" if is_short else "60 s"
        return f"the highest measured mean of the node over {length}"
    power = "the cap" if is_short else "the highest measured mean over 60 s"
    boards_text = f"{boards} boards" if boards > 1 else "the board"
    return f"{power} of {boards_text} and {beside_w:g} W assumed beside them"


def _make_published_subject(
    source: str, model: str, series: Sequence[ResultRow], boards: int, beside_w: float | None
) -> Subject:
    """A published sweep over the cap of one board, at which each board of a node is assumed to
    draw its cap."""
    rows = sorted(series, key=lambda row: row.cap_w or 0)
    points = tuple(
        Point(
            row.cap_w,
            boards * row.items_per_s_per_accelerator.value,
            row.joules_per_item.value,
            row.cap_enforced,
        )
        for row in rows
        if row.joules_per_item
    )
    assumed_w = assume_rest_of_node_w(boards) if beside_w is None else beside_w
    nodes = tuple(
        NodeAtCap(point, power_w, power_w)
        for point in points
        for power_w in [boards * get_cap_w(point) + assumed_w]
    )
    subject = Subject(
        name=f"{source} \u00b7 {model}",
        workload=rows[0].workload,
        standing="published",
        provenance="published",
        scope="the boards alone, each assumed to draw its cap",
        is_of_nodes=False,
        boards=boards,
        points=points,
        reference=points[-1],
        not_compared=None,
        rows=tuple(rows),
        nodes=nodes,
        planned_by=f"the cap of {boards} boards and {assumed_w:g} W assumed beside them",
    )
    return subject if beside_w is None else _add_rest(subject, beside_w, 1)
