"""The tables of single results: all runs and published figures of a workload, and clocks and
power."""

from collections.abc import Iterable, Sequence

from reporting.pareto import EfficiencyPoint, mark_points
from reporting.quantities import PERCENTILES, name_line, quantities, quantity, read_cells
from reporting.report_table import Column, ReportTable
from reporting.results_model import ResultRow
from reporting.sections.against import AGAINST_KEYS, make_against_cells, make_against_columns
from reporting.sections.cells import (
    BundleLink,
    Cells,
    add_mark_columns,
    hide,
    make_figure_columns,
    make_mark_cells,
)
from reporting.sections.control import CONTROL_COLUMNS, make_control_cells
from reporting.sections.data_sheets.naive import NAIVE_COLUMNS, make_naive_cells
from reporting.sections.repeats import (
    BOARD_LIMIT_COLUMN,
    JOULES,
    RATE,
    RUN_COLUMNS,
    ReportSpread,
    join_repeats,
    make_limit_cells,
    make_run_cells,
)
from reporting.sections.section import Section, WorkloadInput
from reporting.sections.shown_columns import ShownColumns
from reporting.sections.sweeps.relative import RELATIVE_COLUMNS, make_relative_cells
from rules.workloads import Workload


def build_results_table(
    workload: Workload,
    rows: Sequence[ResultRow],
    link: BundleLink,
    id: str,
    title: str,
    spread: ReportSpread | None = None,
) -> ReportTable:
    """Every result, in the order of `rows`. Without `spread`, results are not compared."""
    relative_cells = make_relative_cells(rows)
    against_cells = [{} for _ in rows] if spread is None else make_against_cells(rows, spread)
    columns = add_mark_columns(
        *_make_setting_columns(workload),
        *_make_result_figure_columns(workload.item, rows),
        *(make_against_columns() if any(against_cells) else ()),
        *(CONTROL_COLUMNS if any(row.control for row in rows) else ()),
        *hide(*quantities("accelerator", "held")),
        *(Column(key, about, hidden=True, about=about) for key, about in _FRONT_COLUMNS.items()),
        *hide(quantity("comparable")),
        *(RELATIVE_COLUMNS if any(relative_cells) else ()),
        BOARD_LIMIT_COLUMN,
    )
    all_cells = _make_all_result_cells(rows, columns, link)
    cells = tuple(
        row_cells | relative | against | make_limit_cells(spread, JOULES, row.model)
        for row, row_cells, relative, against in zip(
            rows, all_cells, relative_cells, against_cells, strict=True
        )
    )
    # Rows that differ in their load only would look like repeats of each other.
    loads = {row.batch_size for row in rows if row.batch_size is not None}
    load_keys = ("batch",) if len(loads) > 1 else ()
    return ReportTable(id, title, columns, cells, RESULTS_ABOUT, (*load_keys, *_COMPACT_KEYS))


_COMPACT_KEYS = (
    "system",
    "accelerators",
    "variant",
    "precision",
    "cap_w",
    "power_w",
    "items_per_s_per_accelerator",
    "joules_per_item",
    *AGAINST_KEYS,
    "evidence",
)


def _make_setting_columns(workload: Workload) -> tuple[Column, ...]:
    is_served = workload.mode == "inference"
    title, unit = ("in flight", "requests") if is_served else ("batch", "samples")
    return (
        *quantities("system", "accelerators", "variant", "precision"),
        quantity("batch", title=title, unit=unit),
        quantity("cap_w"),
        *RUN_COLUMNS,
        *quantities("in_force_w", "power_w"),
    )


def _make_result_figure_columns(item: str, rows: Sequence[ResultRow]) -> tuple[Column, ...]:
    rate, joules, per_joule = make_figure_columns(item)
    return (
        rate,
        quantity("items_per_s", unit=f"{item}s/s"),
        joules,
        quantity("sensor_term_percent"),
        per_joule,
        quantity("node_items_per_joule_assumed", unit=f"{item}s/J"),
        quantity("mfu_percent"),
        *(NAIVE_COLUMNS if any(row.naive for row in rows) else ()),
        Column(
            "mfu_least_percent",
            "least MFU",
            "%",
            "number",
            3,
            about="MFU by the FLOPs that all ways of counting include: of causal attention only "
            "the half that the mask keeps in pre-training, and none in serving",
        ),
    )


RESULTS_ABOUT = (
    "Each row is one run or one published figure, and its change is that of its own figures "
    "against the baseline. Runs and boards are those of its setting. The table of epochs has the "
    "interval within each run."
)


_FRONT_COLUMNS = {
    "front": "on the Pareto front",
    "peak": "most efficient point of its line",
    "front_node": "on the Pareto front, with node share",
    "peak_node": "most efficient point of its line, with node share",
}


def _make_all_result_cells(
    rows: Sequence[ResultRow], columns: Sequence[Column], link: BundleLink
) -> list[Cells]:
    marks = mark_points(
        [
            _make_efficiency_point(row, row.items_per_joule.value if row.items_per_joule else None)
            for row in rows
        ]
    )
    # The switch of the chart adds the node share. Peaks and front may then be other points, so both
    # sets of marks are in the table.
    marks_with_node = mark_points(
        [_make_efficiency_point(row, row.items_per_joule_with_node_share) for row in rows]
    )
    settings = {id(row): setting for setting in join_repeats(rows) for row in setting.rows}
    return [
        {
            **read_cells(columns, row),
            **make_naive_cells(row),
            **make_control_cells(row),
            **make_mark_cells(row, link),
            "node_items_per_joule_assumed_kind": "assumed",
            "mfu_least_percent": None if row.mfu_least is None else row.mfu_least * 100,
            **make_run_cells(settings[id(row)]),
            "front": mark.is_on_front,
            "peak": mark.is_peak,
            "front_node": mark_with_node.is_on_front,
            "peak_node": mark_with_node.is_peak,
        }
        for row, mark, mark_with_node in zip(rows, marks, marks_with_node, strict=True)
    ]


def _make_efficiency_point(row: ResultRow, items_per_joule: float | None) -> EfficiencyPoint:
    return EfficiencyPoint(
        line=name_line(row),
        standing=row.standing,
        is_comparable=row.comparable,
        may_win=row.may_win,
        cap_w=row.cap_w,
        items_per_s=row.items_per_s_per_accelerator.value,
        items_per_joule=items_per_joule,
    )


def build_power_table(
    workload: Workload, rows: Sequence[ResultRow], link: BundleLink, id: str, title: str
) -> ReportTable:
    """Clocks and distribution of the power readings of each run in its scored epochs."""
    cells = tuple(
        read_cells(_POWER_COLUMNS, row) | make_mark_cells(row, link)
        for row in rows
        if row.provenance
    )
    return ReportTable(id, title, _POWER_COLUMNS, cells, POWER_ABOUT)


_POWER_COLUMNS = add_mark_columns(
    quantity("line", title="run"),
    *quantities("cap_w", "sm_mhz", "mem_mhz"),
    Column(
        "mean_w",
        "mean",
        "W",
        "number",
        about="mean of the power readings; the energy of record may come from a counter",
        read=lambda row: row.run.spread and row.run.spread.mean_w,
    ),
    *quantities(*(f"{name}_w" for name in PERCENTILES), "rated_w", "max_60s_w", "active_percent"),
    *quantities("utilisation_percent", "run_s", "run_kj"),
    *hide(quantity("held")),
)

POWER_ABOUT = (
    "Power readings of all accelerators in scored epochs, one every 100 ms. A single reading "
    "may exceed the cap; the mean of the run must not."
)


def _build(part: WorkloadInput) -> Iterable[ReportTable]:
    words = "demo runs, not compared" if part.is_demo else "results"
    rows = part.runs if part.is_demo else (*part.runs, *part.published)
    yield build_results_table(
        part.workload,
        rows,
        part.link,
        f"{part.id}-results",
        f"{part.workload.title}: {words}",
        part.spread,
    )


SECTION = Section(
    name="results",
    place=10,
    build_of_workload=_build,
    demo_place=200,
    is_for_nodes=True,
    drawn_by=(
        "hill.build_hill_charts",
        "caps.build_cap_charts",
        "rows.bars.build_energy_chart",
    ),
    charts={
        "efficiency": ShownColumns(("items_per_joule", RATE, "cap_w")),
        "hill-small": ShownColumns(("items_per_joule", RATE, "cap_w"), prefers_measured=True),
        "caps": ShownColumns((JOULES, RATE, "cap_w")),
        "saving": ShownColumns(("energy_gain_percent", "extra_time_percent", "cap_w")),
        "energy": ShownColumns((JOULES, "cap_w"), only_measured=True),
    },
    paper_keys=(
        *("line", "cap_w", RATE, JOULES, "items_per_joule", "power_w", "mfu_percent"),
        *("batch", "runs", "boards_n", "over_naive", "standing"),
    ),
)
