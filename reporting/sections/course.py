"""The course of one run: power of node and boards, and utilisation, over time. A row is a step of
time of one line. `bench-report trace` draws it in finer steps than the page."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from reporting.quantities import NODE_SCOPE, describe_provenance, quantities, quantity
from reporting.report_table import Column, ReportTable, Value
from reporting.results_model import ResultRow
from reporting.sections.cells import Cells, add_facet_columns, hide, make_facet_cells
from reporting.sections.section import Section
from reporting.sections.shown_columns import ShownColumns
from reporting.traces import CONTROL, SCORED
from rules.bundle import Bundle
from rules.metrics.energy import MetricsError
from rules.metrics.node.course import Course, compute_course
from rules.metrics.node.traces import FeedTrace

NODE, BOARDS, BOARD, PART = "node", "boards", "board", "part"
"""What a line is of: the node by its meters, all boards together, one board, or what a meter of a
part of the node reads, such as its processors."""
MAX_STEPS = 360
MAX_PAGE_STEPS = 120
"""On a phone, a step has two or three pixels. The page has a row for each step and line."""
MIN_STEP_S = 0.2
"""Boards are read every 100 ms."""

COLUMNS = (
    Column("t_s", "start", "s", "number", about="Since the first reading of a board."),
    Column("to_s", "end", "s", "number"),
    Column("line", "line"),
    Column("of", "of", about="node, part of it, all boards together, or one board"),
    Column("power_w", "mean power", "W", "number"),
    quantity("utilisation_percent", digits=4),
    Column("epoch", "epoch", "", "count", about="Empty between epochs."),
    SCORED,
    *hide(quantity("cap_w")),
    Column("node_rated_w", "rated power of the node", "W", "count", hidden=True),
    replace(CONTROL, unit="W per accelerator"),
    replace(CONTROL, key="node_control_w", title="control of the node"),
    *hide(*quantities("model", "provenance", "standing")),
)


@dataclass(frozen=True)
class ControlPower:
    """The median power of a control run, in W. None: not known."""

    board_w: float | None = None
    """Per accelerator."""
    node_w: float | None = None


def build_course_tables(
    bundle: Bundle, row: ResultRow, control: ControlPower, max_steps: int = MAX_STEPS
) -> list[ReportTable]:
    """The course of a run in at most `max_steps` steps, a table for each of its nodes.

    Raises MetricsError if there are too few readings.
    """
    node_of = {rank.rank: rank.node for rank in bundle.declaration.ranks}
    nodes: dict[str, list[str]] = {}
    for uuid, rank in bundle.accelerator_ranks.items():
        if uuid not in bundle.samples_of:
            raise MetricsError(f"the accelerator {uuid} has no samples")
        nodes.setdefault(node_of[rank], []).append(uuid)
    return [
        _build_table(bundle, row, control, node, uuids, max_steps) for node, uuids in nodes.items()
    ]


def _build_table(
    bundle: Bundle,
    row: ResultRow,
    control: ControlPower,
    node: str,
    uuids: Sequence[str],
    max_steps: int,
) -> ReportTable:
    system = bundle.system_declaration
    of_record = {meter.id for meter in system.meters_of_record}
    of_node = [trace for trace in bundle.feed_traces if trace.feed.node == node]
    feeds = [trace for trace in of_node if trace.meter.id in of_record]
    part_feeds: dict[str, list[FeedTrace]] = {}
    for trace in of_node:
        # A second meter of the whole node shows no part of it.
        if not trace.meter.covers_nodes:
            name = f"{trace.meter.scope} by {trace.meter.id}"
            part_feeds.setdefault(name, []).append(trace)
    samples = {uuid: bundle.samples_of[uuid] for uuid in uuids}
    length_s = max((t.ints("read_ns")[-1] - t.ints("read_ns")[0]) / 1e9 for t in samples.values())
    steps = int(max(1, min(max_steps, length_s / MIN_STEP_S)))
    course = compute_course(samples, feeds, steps, part_feeds)
    rated_w = next((entry.rated_w for entry in system.nodes if entry.name == node), None)
    constants: Cells = {
        "cap_w": bundle.cap_w,
        "node_rated_w": rated_w,
        "control_w": control.board_w,
        "node_control_w": control.node_w,
        "model": row.model,
        "provenance": describe_provenance(row),
        "standing": row.standing,
    }
    times = list(_list_times(bundle, course, node))
    rows = tuple(
        {**time, **line, **constants}
        for of in _list_lines(course, uuids)
        for time, line in zip(times, of, strict=True)
    )
    several = f"-{node}" if len(system.nodes) > 1 else ""
    run_id = bundle.declaration.run_id
    return ReportTable(
        f"{run_id}{several}-course",
        f"Course of the run, {run_id}{f', {node}' if several else ''}",
        COLUMNS,
        rows,
        f"Means over steps of {course.step_s:.3g} s.",
    )


def _list_times(bundle: Bundle, course: Course, node: str) -> Iterator[Cells]:
    """Start, end and epoch of each step. The middle of a step decides which epoch it is in."""
    ranks = {rank.rank for rank in bundle.declaration.ranks if rank.node == node}
    spans: dict[int, tuple[int, int]] = {}
    for (epoch, rank), (start_ns, end_ns) in bundle.spans.items():
        if rank in ranks:
            first_ns, last_ns = spans.get(epoch, (start_ns, end_ns))
            spans[epoch] = min(first_ns, start_ns), max(last_ns, end_ns)
    for start_s in course.starts_s.tolist():
        middle_ns = course.zero_ns + (start_s + course.step_s / 2) * 1e9
        found = (e for e, (start, end) in spans.items() if start <= middle_ns <= end)
        # Between two epochs there is none.
        number = next(found, None)
        yield {
            "t_s": round(start_s, 3),
            "to_s": round(start_s + course.step_s, 3),
            "epoch": number,
            "scored": None if number is None else number >= bundle.protocol.discarded_epochs,
        }


def _list_lines(course: Course, uuids: Sequence[str]) -> Iterator[list[Cells]]:
    """The cells of each line, one for each step."""
    nothing = np.full(len(course.starts_s), np.nan)
    if course.node_w is not None:
        yield _make_line("node", NODE, course.node_w, nothing)
    # Of a single board without a node meter, there is one line only.
    if course.node_w is not None or len(uuids) > 1:
        yield _make_line("all boards", BOARDS, course.sum_of_boards_w, nothing)
    for name, power_w in course.parts_w.items():
        yield _make_line(name, PART, power_w, nothing)
    for place, uuid in enumerate(uuids):
        utilisation = course.utilisation_percent.get(uuid, nothing)
        yield _make_line(f"board {place}", BOARD, course.boards_w[uuid], utilisation)


def _make_line(name: str, of: str, power_w: np.ndarray, percent: np.ndarray) -> list[Cells]:
    return [
        {
            "line": name,
            "of": of,
            "power_w": _round(watts, 1),
            "utilisation_percent": _round(share, 1),
        }
        for watts, share in zip(power_w.tolist(), percent.tolist(), strict=True)
    ]


def _round(value: float, digits: int) -> Value:
    # Not read, so unknown.
    return None if np.isnan(value) else round(value, digits)


def build_page_courses(
    rows: Sequence[ResultRow], id: str, read_bundle: Callable[[Path, str], Bundle]
) -> Iterator[ReportTable]:
    """The course of the fastest run with a node meter; without one, of the fastest run on several
    boards of a node. The trace of a run on one board shows all that is known of it."""
    row = _select_row(rows)
    if row is None or row.provenance is None:
        return
    bundle = read_bundle(row.provenance.run.path, row.provenance.manifest_sha256)
    share = row.control
    # The power of several nodes together is that of no one of them.
    is_one_node = len(row.provenance.run.system.nodes) == 1
    control = ControlPower(
        share.median_w if share else None,
        share.node_median_w if share and is_one_node else None,
    )
    facets = make_facet_cells(row)
    tables = build_course_tables(bundle, row, control, MAX_PAGE_STEPS)
    for place, table in enumerate(tables, start=1):
        # The scope of whole nodes shows the power of the node.
        scope = {"scope": NODE_SCOPE} if any(cells["of"] == NODE for cells in table.rows) else {}
        yield replace(
            table,
            id=f"{id}-course-{place}",
            columns=add_facet_columns(*(_hide_on_page(column) for column in table.columns)),
            rows=tuple({**facets, **cells, **scope} for cells in table.rows),
        )


def _select_row(rows: Sequence[ResultRow]) -> ResultRow | None:
    candidates = [row for row in rows if row.may_win and row.provenance]
    metered = [row for row in candidates if row.provenance and row.provenance.run.node]
    shown = metered or [
        row for row in candidates if row.provenance and len(row.provenance.run.accelerators) > 1
    ]
    return max(shown, key=lambda row: row.items_per_s_per_accelerator.value, default=None)


def _hide_on_page(column: Column) -> Column:
    return hide(column)[0] if column.key in ("to_s", "of", "scored") else column


def _list_shown(table: ReportTable) -> dict[str, ShownColumns]:
    present = {row["of"] for row in table.rows}
    whole = next(of for of in (NODE, BOARDS, PART, BOARD) if of in present)
    return {
        "whole": ShownColumns(("power_w",), only=("of", whole)),
        "boards": ShownColumns(("power_w",), only=("of", BOARD)),
        "utilisation": ShownColumns(("utilisation_percent",), only=("of", BOARD)),
    }


SECTION = Section(
    name="course",
    place=195,
    build_of_workload=lambda part: build_page_courses(part.runs, part.id, part.read_bundle),
    demo_place=195,
    drawn_by=("course.build_course_charts",),
    charts=_list_shown,
    folds_charts=True,
)
