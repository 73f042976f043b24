"""The columns of the table of results that compare each result with a baseline."""

from collections.abc import Sequence

from reporting.report_table import Column
from reporting.results_model import ResultRow
from reporting.sections.cells import Cells
from reporting.sections.compare import (
    COMPARISON_ABOUT,
    GroupComparison,
    compare_setting,
    compare_with_fastest,
)
from reporting.sections.repeats import (
    RUNS_BY_BOARD_COLUMN,
    ReportSpread,
    make_runs_by_board_cells,
    make_setting,
)

FASTEST = "fastest of its group"
"""Stands for `baseline` in the rows of results. These have no column that names the group."""
AGAINST_KEYS = ("rate_percent", "joules_percent")
"""The columns of results that show the comparison with the baseline."""


def make_against_columns() -> tuple[Column, ...]:
    """The columns of results for the comparison of each run with the baseline."""
    about = (
        "of this run against the baseline of the control bar: the fastest setting of its "
        f"comparison group unless another is chosen; {COMPARISON_ABOUT}"
    )
    return (
        Column(
            "rate_percent",
            "throughput against baseline",
            "%",
            "signed",
            about=about,
            note_key="rate_told",
        ),
        Column(
            "joules_percent",
            "energy against baseline",
            "%",
            "signed",
            about=about,
            note_key="joules_told",
        ),
        Column("rate_told", "throughput comparison", hidden=True),
        Column("joules_told", "energy comparison", hidden=True),
        Column("setting", "setting", hidden=True, about="its name in the table of comparisons"),
        RUNS_BY_BOARD_COLUMN,
    )


def make_against_cells(rows: Sequence[ResultRow], spread: ReportSpread) -> list[Cells]:
    """The cells of `make_against_columns` for each row; empty for a row that is not compared, and
    for all rows unless a comparison group has two settings."""
    cells_by_row: dict[int, Cells] = {
        id(row): {"setting": comparison.name, **_compare_row(row, comparison, spread)}
        for comparison in compare_with_fastest(rows, spread)
        for row in comparison.setting.rows
    }
    return [cells_by_row.get(id(row), {}) for row in rows]


def _compare_row(row: ResultRow, comparison: GroupComparison, spread: ReportSpread) -> Cells:
    """The cells of one run, whose change is that of its own figures."""
    setting = make_setting([row], spread)
    cells = make_runs_by_board_cells(setting)
    if comparison.is_alone:
        return cells
    if comparison.setting is comparison.baseline and len(comparison.setting.rows) == 1:
        setting = comparison.baseline
    cells |= compare_setting(setting, comparison.baseline, on_shared_boards=False)
    return {key: FASTEST if cell == "baseline" else cell for key, cell in cells.items()}
