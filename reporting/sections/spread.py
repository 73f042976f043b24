"""The tables of spread: how the epochs of each run vary, and how far the repeats of a setting are
apart."""

from collections.abc import Sequence

from reporting.report_table import Column, ReportTable
from reporting.results_model import ResultRow
from reporting.sections.cells import (
    BundleLink,
    Cells,
    add_mark_columns,
    drop_kind,
    make_figure_cells,
    make_figure_columns,
    make_mark_cells,
)
from reporting.sections.compare import format_label
from reporting.sections.repeats import (
    JOULES,
    RATE,
    RUN_COLUMNS,
    Setting,
    join_repeats,
    make_repeat_cells,
    make_run_cells,
)
from rules.metrics.uncertainty.repeats import Component
from rules.metrics.uncertainty.within_run import EpochSeries
from rules.workloads import Workload

_SERIES = (("rate", "throughput"), ("joules", "energy"))


def build_epochs_table(
    workload: Workload, rows: Sequence[ResultRow], link: BundleLink, id: str, title: str
) -> ReportTable:
    """Interval, autocorrelation and drift of each run over its scored epochs."""
    rate, joules, _ = make_figure_columns(workload.item)
    columns = [Column("line", "run"), Column("cap_w", "cap", "W per accelerator", "count")]
    for figure, (prefix, name) in zip((rate, joules), _SERIES, strict=True):
        columns += [
            Column(figure.key, figure.title, figure.unit, "number", interval=True),
            Column(
                f"{prefix}_autocorrelation",
                f"autocorrelation of {name}",
                "",
                "signed",
                about="of neighbouring epochs; 0 for independent ones",
            ),
            Column(
                f"{prefix}_drift_percent",
                f"drift of {name}",
                "%",
                "signed",
                about="from the first to the last scored epoch, by a straight line",
            ),
            Column(
                f"{prefix}_drift_half_percent",
                f"half interval of the drift of {name}",
                "%",
                "number",
                2,
            ),
        ]
    about = (
        "Intervals are within this run: they hold for repeating the epochs, not for another run or "
        "board, and not for the error of the sensor. They take the autocorrelation into account."
    )
    cells = tuple(_make_epoch_cells(row, link) for row in rows if row.provenance)
    return ReportTable(id, title, add_mark_columns(*columns), cells, about)


def _make_epoch_cells(row: ResultRow, link: BundleLink) -> Cells:
    assert row.provenance is not None
    within_run = row.provenance.run.within_run
    return {
        **make_mark_cells(row, link),
        **drop_kind(make_figure_cells(RATE, row.items_per_s_per_accelerator)),
        **_make_series_cells("rate", within_run.items_per_s),
        **drop_kind(make_figure_cells(JOULES, row.joules_per_item)),
        **_make_series_cells("joules", within_run.joules_per_item),
    }


def _make_series_cells(prefix: str, series: EpochSeries | None) -> Cells:
    if series is None:
        return {}
    cells: Cells = {f"{prefix}_autocorrelation": series.autocorrelation}
    if series.drift is not None:
        cells[f"{prefix}_drift_percent"] = series.drift.percent
        cells[f"{prefix}_drift_half_percent"] = series.drift.half_width_percent
    return cells


def build_repeats_table(
    workload: Workload, rows: Sequence[ResultRow], link: BundleLink, id: str, title: str
) -> ReportTable:
    """The spread of each setting within its runs, between runs and between boards."""
    components = (
        ("epochs", "within a run", "between the epochs of a run"),
        ("run_means", "between runs", "between runs on one board"),
        ("board_means", "between boards", "between the means of boards"),
    )
    columns = [Column("result", "setting"), *RUN_COLUMNS, Column("figure", "figure")]
    for key, name, about in components:
        columns += [
            Column(f"{key}_percent", name, "%", "number", 2, about=f"standard deviation {about}"),
            Column(
                f"{key}_df", f"degrees of freedom {name}", "", "count", about="of the column before"
            ),
        ]
    columns.append(Column("missing", "cannot be estimated"))
    about = (
        "Relative standard deviations. Epochs of one run are no independent repeats. The spread "
        "between runs needs two runs on one board; that between boards needs two boards, and holds "
        "the spread between runs too."
    )
    cells = [
        _make_component_cells(setting, figure, name, link)
        for setting in join_repeats(row for row in rows if row.provenance)
        for figure, name in ((RATE, "throughput"), (JOULES, "energy"))
    ]
    return ReportTable(id, title, add_mark_columns(*columns), tuple(cells), about)


def _make_component_cells(setting: Setting, figure: str, name: str, link: BundleLink) -> Cells:
    cells: Cells = {
        **make_repeat_cells(setting, link),
        **make_run_cells(setting),
        "result": format_label(setting.mean),
        "figure": name,
    }
    components = setting.compute_components(figure)
    if components is None:
        return cells
    cells |= _make_spread_cells("epochs", components.epochs)
    cells |= _make_spread_cells("run_means", components.runs)
    cells |= _make_spread_cells("board_means", components.boards)
    reasons = []
    if components.runs is None:
        reasons.append("between runs: no boards have two runs")
    if components.boards is None:
        reasons.append("between boards: all runs are on the same boards")
    cells["missing"] = "; ".join(reasons) or None
    return cells


def _make_spread_cells(key: str, component: Component | None) -> Cells:
    if component is None:
        return {}
    return {f"{key}_percent": component.percent, f"{key}_df": component.degrees_of_freedom}
