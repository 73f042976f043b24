"""The columns of the table of results that compare each result with a baseline."""

from collections.abc import Sequence

from reporting.report_table import Column
from reporting.results_model import ResultRow
from reporting.sections.cells import Cells
from reporting.sections.compare import COMPARISON_ABOUT, compare_setting, compare_with_fastest
from reporting.sections.repeats import ReportSpread

FASTEST = "fastest of its group"
"""Stands for `baseline` in the rows of results. These have no column that names the group."""
AGAINST_KEYS = ("rate_percent", "joules_percent")
"""The columns of results that show the comparison with the baseline."""


def make_against_columns() -> tuple[Column, ...]:
    """The columns of results for the comparison of their setting with the baseline."""
    about = (
        "of the setting, the mean over its repeats, against the baseline of the control bar: the "
        f"fastest of its comparison group unless another is chosen; {COMPARISON_ABOUT}"
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
    )


def make_against_cells(rows: Sequence[ResultRow], spread: ReportSpread) -> list[Cells]:
    """The cells of `make_against_columns` for each row; empty for a row that is not compared, and
    for all rows unless a comparison group has two settings."""
    cells_by_row: dict[int, Cells] = {
        id(row): {"setting": name, **_name_fastest(compare_setting(setting, baseline, spread))}
        for setting, name, baseline, _ in compare_with_fastest(rows)
        for row in setting.rows
    }
    return [cells_by_row.get(id(row), {}) for row in rows]


def _name_fastest(cells: Cells) -> Cells:
    return {key: FASTEST if cell == "baseline" else cell for key, cell in cells.items()}
