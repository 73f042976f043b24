"""Energy, time and energy-delay product of trainings to a target."""

from collections.abc import Sequence

from reporting.quantities import quantities, quantity, read_cells
from reporting.report_table import Column, ReportTable
from reporting.results_model import ResultRow
from reporting.sections.cells import (
    BundleLink,
    Cells,
    add_mark_columns,
    make_estimate_cells,
    make_mark_cells,
)
from reporting.sections.section import Section
from rules.workloads import Workload

ABOUT = (
    "A training ends at the first evaluation that reaches the target. The intervals are 95 % by "
    "Student's t over the scored epochs, whose trainings have seeds of their own. Times are those "
    "of one accelerator. EDP is energy times time."
)
COLUMNS = add_mark_columns(
    *quantities("line", "cap_w"),
    Column("target_percent", "target", "% accuracy", "number", 3),
    Column("trainings", "trainings", "", "count"),
    Column("steps", "steps", "", "number", about="median of the trainings"),
    Column("min_steps", "fewest steps", "", "count"),
    Column("max_steps", "most steps", "", "count"),
    Column("target_s", "time to target", "s", "number", interval=True),
    Column("target_j", "energy to target", "J", "number", interval=True),
    Column("edp_js", "EDP", "J\u00b7s", "number", interval=True),
    quantity("node_joules_per_item", title="node energy to target", unit="J"),
)


def build_energy_to_target_table(
    workload: Workload, rows: Sequence[ResultRow], link: BundleLink, id: str, title: str
) -> ReportTable | None:
    """One row for each run, by configuration and cap; None without runs to a target."""
    runs = [row for row in rows if row.provenance and row.provenance.run.to_target]
    if not runs:
        return None
    runs.sort(key=lambda row: (row.system, row.variant or "", row.cap_w or 0.0))
    cells = tuple(_make_cells(workload, row, link) for row in runs)
    return ReportTable(id, title, COLUMNS, cells, ABOUT)


def _make_cells(workload: Workload, row: ResultRow, link: BundleLink) -> Cells:
    declaration, figures = row.run.declaration, row.run.to_target
    target = workload.size(declaration.size, declaration.implementation.variant).target
    assert target is not None and figures is not None
    return {
        **read_cells(COLUMNS, row),
        **make_mark_cells(row, link),
        "target_percent": 100 * target.accuracy,
        "trainings": figures.trainings,
        "steps": figures.median_steps,
        "min_steps": figures.min_steps,
        "max_steps": figures.max_steps,
        **make_estimate_cells("target_s", figures.seconds),
        **make_estimate_cells("target_j", figures.energy_j),
        **make_estimate_cells("edp_js", figures.edp_js),
    }


SECTION = Section(
    name="energy-to-target",
    place=15,
    build_of_workload=lambda part: [
        build_energy_to_target_table(*part.describe_runs("energy-to-target", "energy to accuracy"))
    ],
    demo_place=205,
)
