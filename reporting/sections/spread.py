"""The tables of spread: how the epochs of each run vary, and how far the repeats of a setting are
apart."""

from collections.abc import Sequence
from dataclasses import replace

from reporting.quantities import quantity
from reporting.report_table import Column, ReportTable, TableRow
from reporting.results_model import ResultRow
from reporting.sections.cells import (
    BundleLink,
    Cells,
    add_mark_columns,
    list_boards,
    make_estimate_cells,
    make_figure_columns,
    make_mark_cells,
)
from reporting.sections.compare import name_settings
from reporting.sections.repeats import (
    BOARD_LIMIT_COLUMN,
    JOULES,
    RATE,
    RUN_COLUMNS,
    ReportSpread,
    Setting,
    join_repeats,
    make_limit_cells,
    make_repeat_cells,
    make_run_cells,
    make_setting,
)
from reporting.sections.section import Section
from reporting.sections.shown_columns import ShownColumns, get_number, list_numbers
from reporting.words import format_percent
from rules.metrics.comparison import relative_percent
from rules.metrics.uncertainty.repeats import Component
from rules.metrics.uncertainty.within_run import EpochSeries
from rules.workloads import Workload

_SERIES = (("rate", "throughput"), ("joules", "energy"))


def build_epochs_table(
    workload: Workload,
    rows: Sequence[ResultRow],
    link: BundleLink,
    id: str,
    title: str,
    spread: ReportSpread | None = None,
) -> ReportTable:
    """Interval, autocorrelation and drift of each run over its scored epochs, and its distance from
    the mean of its setting. Without `spread`, settings are not compared."""
    rate, joules, _ = make_figure_columns(workload.item)
    columns = [quantity("line", title="run"), quantity("cap_w")]
    for figure, (prefix, name) in zip((rate, joules), _SERIES, strict=True):
        columns += [
            replace(figure, about="", kinds=False),
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
    columns += _SETTING_COLUMNS
    about = (
        "Intervals are within this run: they hold for repeating the epochs, not for another run or "
        "board, and not for the error of the sensor. They take the autocorrelation into account."
    )
    cells = tuple(_make_all_epoch_cells(rows, link, spread))
    return ReportTable(id, title, add_mark_columns(*columns), cells, about)


_SETTING_COLUMNS = (
    Column("setting", "setting", hidden=True),
    Column("board", "board of the run", hidden=True, about="end of the UUID of each board"),
    Column("runs", "runs of the setting", "", "count", hidden=True),
    Column("joules_mean", "mean energy of the setting", hidden=True),
    Column(
        "off_mean_percent",
        "energy against the mean of the setting",
        "%",
        "signed",
        hidden=True,
    ),
    Column(
        "mean_percent",
        "mean of the setting",
        "%",
        "signed",
        hidden=True,
        interval=True,
        about="0, with the 95 % interval of another run on another board",
    ),
    BOARD_LIMIT_COLUMN,
)


def _make_all_epoch_cells(
    rows: Sequence[ResultRow], link: BundleLink, spread: ReportSpread | None
) -> list[Cells]:
    submitted = [row for row in rows if row.provenance]
    settings = join_repeats(submitted)
    setting_cells = {
        id(row): _make_setting_cells(row, setting, name, spread)
        for setting, name in zip(settings, name_settings(settings), strict=True)
        for row in setting.rows
    }
    return [_make_epoch_cells(row, link) | setting_cells[id(row)] for row in submitted]


def _make_setting_cells(
    row: ResultRow, setting: Setting, name: str, spread: ReportSpread | None
) -> Cells:
    """The cells of `_SETTING_COLUMNS`. Rows excluded from rankings do not count in the mean, unless
    the setting has no others."""
    setting = make_setting([run for run in setting.rows if run.may_win] or setting.rows, spread)
    cells: Cells = {
        "setting": name,
        "board": list_boards(row),
        "runs": setting.runs,
        **make_limit_cells(spread, JOULES, row.model),
    }
    mean = setting.mean.joules_per_item
    if mean is None or row.joules_per_item is None:
        return cells
    cells |= {
        "joules_mean": mean.value,
        "off_mean_percent": relative_percent(row.joules_per_item.value, mean.value),
        "mean_percent": 0,
    }
    if mean.ci95 is not None:
        low, high = (relative_percent(end, mean.value) for end in mean.ci95)
        cells |= {
            "mean_percent_low": low,
            "mean_percent_high": high,
            "mean_percent_n": mean.n,
        }
    return cells


def _make_epoch_cells(row: ResultRow, link: BundleLink) -> Cells:
    assert row.provenance is not None
    within_run = row.provenance.run.within_run
    return {
        **make_mark_cells(row, link),
        **make_estimate_cells(RATE, within_run.headline.items_per_s_per_accelerator),
        **_make_series_cells("rate", within_run.items_per_s),
        **make_estimate_cells(JOULES, within_run.headline.joules_per_item),
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
    settings = join_repeats(row for row in rows if row.provenance)
    parts = [
        (setting, setting_name, figure, name)
        for setting, setting_name in zip(settings, name_settings(settings), strict=True)
        for figure, name in ((RATE, "throughput"), (JOULES, "energy"))
    ]
    cells = tuple(_make_component_cells(*part, link) for part in parts)
    identities = tuple((_list_run_ids(setting), name) for setting, _, _, name in parts)
    all_columns = add_mark_columns(*columns)
    return ReportTable(id, title, all_columns, cells, about, identities=identities)


def _list_run_ids(setting: Setting) -> frozenset[str]:
    return frozenset(row.provenance.run.run_id for row in setting.rows if row.provenance)


def _make_component_cells(
    setting: Setting, setting_name: str, figure: str, name: str, link: BundleLink
) -> Cells:
    cells: Cells = {
        **make_repeat_cells(setting, link),
        **make_run_cells(setting),
        "result": setting_name,
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


def _describe_repeats(rows: Sequence[TableRow]) -> str:
    """How far repeats are from the mean of their setting."""
    repeats = [row for row in rows if (get_number(row, "runs") or 0) > 1]
    distances = [abs(percent) for percent in list_numbers(repeats, "off_mean_percent")]
    if not distances:
        return ""
    return (
        f"Repeats differ by up to {format_percent(max(distances))} from the mean energy of their "
        "setting"
    )


SECTION = Section(
    name="epochs",
    place=160,
    build_of_workload=lambda part: [
        build_epochs_table(
            *part.describe_runs("epochs", "epochs within each run"),
            part.spread,
        )
        if part.runs
        else None
    ],
    demo_place=160,
    is_for_nodes=True,
    drawn_by=("rows.repeats.build_repeats_chart",),
    charts={
        "repeats": ShownColumns(("off_mean_percent",), find=_describe_repeats, only_repeats=True)
    },
)
REPEATS_SECTION = Section(
    name="repeats",
    place=170,
    build_of_workload=lambda part: [
        build_repeats_table(*part.describe_runs("repeats", "spread of repeats"))
        if part.runs
        else None
    ],
    demo_place=170,
    is_for_nodes=True,
    paper_keys=(
        *("result", "figure", "run_means_percent", "board_means_percent", "epochs_percent"),
        *("runs", "boards_n", "run_means_df", "board_means_df", "epochs_df"),
    ),
)
