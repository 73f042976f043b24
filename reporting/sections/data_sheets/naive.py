"""Measured energy over the naive estimate: the columns of each result, and all runs together."""

from collections.abc import Sequence
from statistics import fmean

from reporting.quantities import name_line, quantities, quantity, read_cells
from reporting.report_table import Column, ReportTable, TableRow
from reporting.results_model import ResultRow
from reporting.sections.cells import (
    IN_CHART,
    BundleLink,
    Cells,
    add_mark_columns,
    make_estimate_cells,
    make_mark_cells,
)
from reporting.sections.compare import name_settings
from reporting.sections.repeats import Setting, join_repeats
from reporting.sections.section import Section
from reporting.sections.shown_columns import ShownColumns, list_numbers
from reporting.words import format_percent_range

_FACTOR = Column(
    "over_naive",
    "measured / naive",
    "",
    "number",
    3,
    about="measured energy per item over FLOPs per item / dense peak \u00d7 highest power of the "
    "board; the same as (mean power / highest power) / MFU",
    interval=True,
)
_ESTIMATE = Column(
    "naive_estimate",
    "naive estimate",
    about="the denominator; the numerator is measured J/item",
    hidden=True,
)
NAIVE_COLUMNS = (_FACTOR, _ESTIMATE)


def make_naive_cells(row: ResultRow) -> Cells:
    """The cells of `NAIVE_COLUMNS`; none if a run has no energy or no MFU."""
    if row.naive is None:
        return {}
    return {
        **make_estimate_cells("over_naive", row.naive.factor),
        "naive_estimate": row.naive.denominator,
    }


def build_naive_table(rows: Sequence[ResultRow], link: BundleLink) -> ReportTable | None:
    """All runs of workloads with their energy over the naive estimate, by workload and factor; None
    if there are none."""
    compared = [
        # A result excluded from rankings must not come first.
        (row.workload, not row.may_win, row.naive.factor.mean, row)
        for row in rows
        if row.naive is not None and row.standing in ("closed", "open")
    ]
    if not compared:
        return None
    names, best_rows = _name_settings([row for *_, row in compared])
    columns = add_mark_columns(
        *quantities("workload", "cap_w"),
        quantity("power_w", unit="W"),
        quantity("mfu_percent", kinds=False),
        Column(
            "achieved_tflops",
            "achieved",
            "TFLOP/s per accelerator",
            "number",
            3,
            about="FLOPs of the model per second: throughput \u00d7 FLOPs per item",
        ),
        Column("peak_tflops", "dense peak", "TFLOP/s per accelerator", "number"),
        quantity("precision", about="the dense peak is that of this precision"),
        Column("highest_power_w", "highest power of the board", "W", "count"),
        _FACTOR,
        _ESTIMATE,
        Column("setting", "setting", hidden=True),
        Column(
            IN_CHART,
            "in the charts",
            hidden=True,
            about="whether its setting has the least factor of its configuration and cap",
        ),
    )
    cells: list[Cells] = [
        {
            **read_cells(columns, row),
            **_make_peak_cells(row),
            **make_naive_cells(row),
            **make_mark_cells(row, link),
            "line": f"{name_line(row)} · {row.workload}",
            "setting": f"{names[id(row)]} · {row.workload}",
            IN_CHART: id(row) in best_rows,
        }
        for _, _, _, row in sorted(compared, key=lambda entry: entry[:3])
    ]
    about = (
        "Numerator: measured energy of the accelerators per item. Denominator: FLOPs per item, a "
        "multiply-add counted as two, / dense peak at the precision of the run \u00d7 highest "
        "power of the board. A factor of 1 would be a board that computes at its peak all the time."
    )
    title = "Measured energy over the naive estimate"
    return ReportTable("naive-factors", title, columns, tuple(cells), about)


def _make_peak_cells(row: ResultRow) -> Cells:
    """Achieved FLOP/s, and the dense peak and the power that the naive estimate assumes."""
    if row.naive is None or row.mfu is None:
        return {}
    estimate = row.naive.estimate
    return {
        "achieved_tflops": estimate.compute_tflops(row.mfu.value),
        "peak_tflops": estimate.peak_tflops,
        "highest_power_w": estimate.power_w,
    }


def _name_settings(rows: Sequence[ResultRow]) -> tuple[dict[int, str], set[int]]:
    """The name of the setting of each row, and the rows that the charts show: of settings that
    differ in batch size or load only, those of the one with the least factor."""
    settings = join_repeats(rows)
    names = {
        id(row): name
        for setting, name in zip(settings, name_settings(settings), strict=True)
        for row in setting.rows
    }
    best: dict[tuple[object, ...], Setting] = {}
    for setting in sorted(settings, key=_get_factor):
        row = setting.rows[0]
        best.setdefault((row.workload, name_line(row), row.cap_w), setting)
    return names, {id(row) for setting in best.values() for row in setting.rows}


def _get_factor(setting: Setting) -> tuple[bool, float]:
    """The mean over the runs of a setting that may win. A setting without one comes after all
    others."""
    winning = [row for row in setting.rows if row.may_win]
    factors = [row.naive.factor.mean for row in winning or setting.rows if row.naive]
    return not winning, fmean(factors)


def _describe_factors(rows: Sequence[TableRow]) -> str:
    """The range of measured energy over the naive estimate."""
    factors = list_numbers(rows, "over_naive")
    if not factors:
        return ""
    least, greatest = (f"{value:.1f}" for value in (min(factors), max(factors)))
    multiple = least if least == greatest else f"{least} to {greatest}"
    return f"Measured energy per item is {multiple} times the naive estimate"


def _describe_peak_shares(rows: Sequence[TableRow]) -> str:
    """The range of the share of the dense peak."""
    shares = list_numbers(rows, "mfu_percent")
    return f"Runs reach {format_percent_range(shares)} of the dense peak" if shares else ""


SECTION = Section(
    name="naive-factors",
    place=140,
    build=lambda page: [build_naive_table(page.rows, page.link)],
    is_across=True,
    drawn_by=("rows.peaks.build_peak_charts",),
    charts={
        "peak": ShownColumns(
            ("achieved_tflops", "peak_tflops", "mfu_percent"), find=_describe_peak_shares
        ),
        "marks": ShownColumns(("over_naive",), find=_describe_factors),
    },
    paper_keys=("line", "cap_w", "over_naive", "mfu_percent", "power_w"),
)
