"""The settings of a sweep compared on the same boards, for sweeps that ran on several boards."""

from collections.abc import Mapping, Sequence

from reporting.report_table import Column, ReportTable
from reporting.results_model import ResultRow
from reporting.sections.cells import (
    Cells,
    add_facet_columns,
    find_boards,
    list_boards,
    make_estimate_cells,
    make_facet_cells,
)
from reporting.sections.repeats import JOULES, RATE, RUN_COLUMNS, ReportSpread
from reporting.sections.sweeps.gains import ComparedSettings
from rules.metrics.figures import Estimate
from rules.metrics.sweeps.same_boards import BoardRun, estimate_changes_on_same_boards
from rules.metrics.uncertainty.propagation import excludes

RowsBySetting = Mapping[str, tuple[ResultRow, ...]]
"""The runs of each setting, by its label."""
Changes = dict[str, Estimate]
"""Changes against a reference in percent, by the label of the setting."""


def build_same_boards_table(
    sweeps: Sequence[ComparedSettings], spread: ReportSpread | None, id: str, title: str
) -> ReportTable | None:
    """Each sweep over several boards, against the setting that most boards ran. None without such
    a sweep, and if the report does not know the spread of runs on one board."""
    cells_by_row = {
        (sweep.kind, label): cells
        for sweep in sweeps
        if spread is not None
        for label, cells in _make_cells(sweep, spread).items()
    }
    if not cells_by_row:
        return None
    columns = add_facet_columns(
        Column("line", "sweep"),
        Column("value", "setting"),
        *RUN_COLUMNS,
        *(
            Column(
                f"{figure}_change_percent",
                f"{name} change",
                "%",
                "signed",
                about="against the setting that most boards ran; intervals are between runs",
                interval=True,
            )
            for figure, name in _FIGURES.items()
        ),
        Column("note", "note"),
    )
    return ReportTable(
        id, title, columns, tuple(cells_by_row.values()), ABOUT, identities=tuple(cells_by_row)
    )


ABOUT = (
    "Each setting is compared with the one that most boards ran, on the same boards, so that "
    "differences between boards drop out. A setting on another board is compared through the "
    "settings that both boards ran. The intervals of 95 % come from the spread of repeated runs on "
    "one board, over all workloads of the report."
)
_FIGURES = {RATE: "throughput", JOULES: "energy"}


def find_anchor(rows_by_setting: RowsBySetting) -> str:
    """The label of the setting that most boards ran; of several, the first."""
    return max(rows_by_setting, key=lambda label: len(find_boards(rows_by_setting[label])))


def estimate_changes(
    rows_by_setting: RowsBySetting,
    reference: str,
    figure: str,
    spread: ReportSpread,
) -> Changes:
    """The changes of a figure, `RATE` or `JOULES`, against the reference on the same boards. Empty
    if the report does not know the spread of runs on one board."""
    run_spread = spread.runs[figure]
    if run_spread is None:
        return {}
    runs = [
        BoardRun(label, list_boards(row), value.value)
        for label, rows in rows_by_setting.items()
        for row in rows
        if (value := getattr(row, figure)) is not None
    ]
    return estimate_changes_on_same_boards(runs, reference, run_spread)


def find_least_energy(rows_by_setting: RowsBySetting, spread: ReportSpread | None) -> str | None:
    """The label of the setting with the least energy per item on the same boards. None if shared
    boards do not connect all settings, and if the report does not know the spread of runs on one
    board."""
    if spread is None:
        return None
    anchor = find_anchor(rows_by_setting)
    changes = estimate_changes(rows_by_setting, anchor, JOULES, spread)
    if len(changes) < len(rows_by_setting) - 1:
        return None
    changes_percent = {anchor: 0.0} | {label: change.mean for label, change in changes.items()}
    return min(rows_by_setting, key=lambda label: changes_percent[label])


def _make_cells(sweep: ComparedSettings, spread: ReportSpread) -> dict[str, Cells]:
    """The cells of each compared setting, by its label; empty for a sweep on one board, whose own
    table has the same changes."""
    rows_by_setting = {label: sweep.rows_by_setting[label] for label in sweep.points}
    anchor = find_anchor(rows_by_setting)
    changes_by_figure = {
        figure: estimate_changes(rows_by_setting, anchor, figure, spread) for figure in _FIGURES
    }
    compared_rows = {
        label: rows
        for label, rows in rows_by_setting.items()
        if label == anchor or any(label in changes for changes in changes_by_figure.values())
    }
    boards = {list_boards(row) for rows in compared_rows.values() for row in rows}
    if len(compared_rows) < 2 or len(boards) < 2:
        return {}
    cells_by_setting = {}
    for label, rows in compared_rows.items():
        cells: Cells = {
            **make_facet_cells(rows[0]),
            "line": sweep.sweep,
            "value": label,
            "runs": len(rows),
            "boards_n": len(find_boards(rows)),
        }
        not_told_apart = []
        for figure, name in _FIGURES.items():
            if (change := changes_by_figure[figure].get(label)) is not None:
                cells |= make_estimate_cells(f"{figure}_change_percent", change)
                if not excludes(change.ci95, 0.0):
                    not_told_apart.append(name)
        if label == anchor:
            cells["note"] = "compared with this setting"
        elif not_told_apart:
            cells["note"] = f"not told apart: {', '.join(not_told_apart)}"
        cells_by_setting[label] = cells
    return cells_by_setting
