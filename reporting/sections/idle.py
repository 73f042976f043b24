"""What boards draw without work, and what a run costs before its first scored epoch."""

from collections.abc import Sequence

from reporting.quantities import quantities, quantity, read_cells
from reporting.report_table import Column, ReportTable
from reporting.results_model import ResultRow
from reporting.sections.cells import BundleLink, Cells, add_mark_columns, make_mark_cells
from reporting.sections.section import Section
from rules.metrics.idle import IdleSummary
from rules.workloads import Workload


def build_idle_table(
    workload: Workload, rows: Sequence[ResultRow], link: BundleLink, id: str, title: str
) -> ReportTable | None:
    """The runs with idle figures, the smallest idle share first. None without such a run."""
    measured = [
        (row, row.provenance.run.idle)
        for row in rows
        if row.provenance and row.provenance.run.idle is not None
    ]
    if not measured:
        return None
    measured.sort(key=lambda pair: pair[1].idle_share)
    columns = add_mark_columns(
        quantity("line", title="run"),
        *quantities("cap_w", "bare_w", "resident_w"),
        Column("idle_percent", "idle share", "%", "number", about="idle with model / under load"),
        Column("preparation_s", "time to first scored epoch", "s", "count"),
        Column("preparation_kj", "energy before it", "kJ", "number"),
        Column("unused_boards", "unused boards", "", "count"),
        Column("unused_w", "their power", "W", "number", about="of all together, during the run"),
        Column("busy_boards", "of them busy", "", "count", about="with other work, by their power"),
    )
    cells = tuple(read_cells(columns, row) | _make_cells(row, idle, link) for row, idle in measured)
    return ReportTable(id, title, columns, cells, ABOUT)


ABOUT = (
    "Means over the accelerators of a run. Both idle phases last 30 s, in short runs as long as an "
    "epoch. The time to the first scored epoch begins with the start of the workers, without the "
    "idle phases. Unused boards are those of the same nodes that the run does not use. Their power "
    "is stated by the harness, and no evidence confirms it. A board is busy if it draws more than "
    "twice the idle power of the boards of the run."
)


def _make_cells(row: ResultRow, idle: IdleSummary, link: BundleLink) -> Cells:
    return {
        **make_mark_cells(row, link),
        "idle_percent": 100 * idle.idle_share,
        "preparation_s": idle.preparation_s,
        "preparation_kj": idle.preparation_j / 1e3,
        "unused_boards": idle.unused_boards,
        "unused_w": idle.unused_w,
        "busy_boards": idle.busy_boards,
    }


SECTION = Section(
    name="idle",
    place=150,
    build_of_workload=lambda part: [
        build_idle_table(*part.describe_runs("idle", f"idle power{part.not_compared}"))
    ],
    demo_place=150,
)
