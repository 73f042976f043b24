"""The tables of single results: all runs and published figures of a workload, and clocks and
power."""

from collections.abc import Iterable, Sequence

from reporting.pareto import EfficiencyPoint, mark_points
from reporting.report_table import Column, ReportTable
from reporting.results_model import ResultRow
from reporting.sections.against import AGAINST_KEYS, make_against_cells, make_against_columns
from reporting.sections.cells import (
    BundleLink,
    Cells,
    add_mark_columns,
    format_accelerators,
    make_estimate_cells,
    make_figure_cells,
    make_figure_columns,
    make_mark_cells,
    name_line,
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
from rules.metrics.uncertainty.systematic import SENSOR_ACCURACY, compute_sensor_term
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
        Column("accelerator", "accelerator", hidden=True),
        Column("held", "cap held", hidden=True),
        *(Column(key, about, hidden=True, about=about) for key, about in _FRONT_COLUMNS.items()),
        *(RELATIVE_COLUMNS if any(relative_cells) else ()),
        BOARD_LIMIT_COLUMN,
    )
    cells = tuple(
        row_cells | relative | against | make_limit_cells(spread, JOULES, row.model)
        for row, row_cells, relative, against in zip(
            rows, _make_all_result_cells(rows, link), relative_cells, against_cells, strict=True
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
        Column("system", "system"),
        Column("accelerators", "accelerators"),
        Column("variant", "variant"),
        Column("precision", "precision"),
        Column("batch", title, unit, "count"),
        Column("cap_w", "cap", "W per accelerator", "count", about="requested power cap"),
        *RUN_COLUMNS,
        Column("in_force_w", "limit read back", "W", about="power limit that the board reported"),
        Column(
            "power_w",
            "mean power",
            "W per accelerator",
            "number",
            about="while batches were active",
        ),
    )


def _make_result_figure_columns(item: str, rows: Sequence[ResultRow]) -> tuple[Column, ...]:
    rate, joules, per_joule = make_figure_columns(item)
    return (
        rate,
        Column("items_per_s", "total throughput", f"{item}s/s", "number"),
        joules,
        Column(
            "sensor_term_percent",
            "sensor term of energy",
            "%",
            "number",
            2,
            about="systematic, beside the interval: difference between power readings and energy "
            f"counter over the run. {SENSOR_ACCURACY}",
        ),
        per_joule,
        Column(
            "node_items_per_joule_assumed",
            "efficiency with node share",
            f"{item}s/J",
            "number",
            kinds=True,
            about=NODE_SHARE,
        ),
        Column(
            "mfu_percent",
            "MFU",
            "%",
            "number",
            3,
            kinds=True,
            about="model FLOPs utilisation: share of the dense peak of the board",
        ),
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


def _compute_sensor_term_percent(row: ResultRow) -> float | None:
    """None of a published figure, of whole nodes, and without an energy counter."""
    if row.provenance is None or row.is_of_nodes:
        return None
    share = compute_sensor_term(row.provenance.run.headline)
    return None if share is None else 100 * share


NODE_SHARE = (
    "adds the power that Mayr et al. 2026 assume for the rest of a node, 100 W for four "
    "accelerators unless changed; uses the cap where no power was measured; empty where the power "
    "of the node was measured"
)


_FRONT_COLUMNS = {
    "front": "on the Pareto front",
    "peak": "most efficient point of its line",
    "front_node": "on the Pareto front, with node share",
    "peak_node": "most efficient point of its line, with node share",
    "comparable": "may be compared within its line",
}


def _make_all_result_cells(rows: Sequence[ResultRow], link: BundleLink) -> list[Cells]:
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
            **_make_result_cells(row, link),
            **make_run_cells(settings[id(row)]),
            "front": mark.is_on_front,
            "peak": mark.is_peak,
            "front_node": mark_with_node.is_on_front,
            "peak_node": mark_with_node.is_peak,
            "comparable": row.comparable,
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


def _make_result_cells(row: ResultRow, link: BundleLink) -> Cells:
    return {
        "system": row.system,
        "accelerators": format_accelerators(row),
        "accelerator": row.accelerator,
        "in_force_w": ", ".join(f"{w:g}" for w in row.limits_w) or None,
        "power_w": row.mean_power_w.value if row.mean_power_w else None,
        **make_figure_cells("items_per_s_per_accelerator", row.items_per_s_per_accelerator),
        "items_per_s": row.items_per_s.value if row.items_per_s else None,
        **make_figure_cells("joules_per_item", row.joules_per_item),
        **make_figure_cells("items_per_joule", row.items_per_joule),
        "node_items_per_joule_assumed": row.items_per_joule_with_node_share,
        "node_items_per_joule_assumed_kind": "assumed",
        "mfu_percent": None if row.mfu is None else row.mfu.value * 100,
        "sensor_term_percent": _compute_sensor_term_percent(row),
        "mfu_least_percent": None if row.mfu_least is None else row.mfu_least * 100,
        "mfu_percent_kind": None if row.mfu is None else row.mfu.kind,
        "held": row.cap_enforced,
        **make_naive_cells(row),
        **make_control_cells(row),
        **make_mark_cells(row, link),
    }


def build_power_table(
    workload: Workload, rows: Sequence[ResultRow], link: BundleLink, id: str, title: str
) -> ReportTable:
    """Clocks and distribution of the power readings of each run in its scored epochs."""
    cells = tuple(_make_power_cells(row, link) for row in rows if row.provenance)
    return ReportTable(id, title, _POWER_COLUMNS, cells, POWER_ABOUT)


_POWER_COLUMNS = add_mark_columns(
    Column("line", "run"),
    Column("cap_w", "cap", "W per accelerator", "count"),
    Column("sm_mhz", "SM clock", "MHz", "number", interval=True),
    Column("mem_mhz", "memory clock", "MHz", "number", interval=True),
    Column(
        "mean_w",
        "mean",
        "W",
        "number",
        about="mean of the power readings; the energy of record may come from a counter",
    ),
    Column("min_w", "minimum", "W", "number"),
    Column("p5_w", "5th percentile", "W", "number"),
    Column("p25_w", "25th percentile", "W", "number"),
    Column("median_w", "median", "W", "number"),
    Column("p75_w", "75th percentile", "W", "number"),
    Column("p95_w", "95th percentile", "W", "number"),
    Column("max_w", "maximum", "W", "number"),
    Column(
        "rated_w",
        "rated power",
        "W",
        "count",
        about="highest power limit that the board accepts",
    ),
    Column(
        "max_60s_w",
        "maximum of 60 s",
        "W, all accelerators",
        "number",
        about="largest mean over 60 s of the power of all accelerators together",
    ),
    Column(
        "active_percent",
        "active share",
        "%",
        "number",
        about="time in which batches were active over the time of the scored epochs",
    ),
    Column(
        "utilisation_percent",
        "utilisation",
        "%",
        "number",
        3,
        about="as the boards state it; 100 % does not mean that their units are busy",
    ),
    Column("run_s", "whole run", "s", "count", about="start-up and discarded epochs included"),
    Column("run_kj", "energy of the whole run", "kJ, all accelerators", "number"),
    Column("held", "cap held", hidden=True),
)

POWER_ABOUT = (
    "Power readings of all accelerators in scored epochs, one every 100 ms. A single reading "
    "may exceed the cap; the mean of the run must not."
)


def _make_power_cells(row: ResultRow, link: BundleLink) -> Cells:
    assert row.provenance is not None
    run = row.provenance.run
    ratings_w = [accelerator.max_power_w for accelerator in run.accelerators]
    return {
        **make_estimate_cells("sm_mhz", run.clocks.sm_mhz),
        **make_estimate_cells("mem_mhz", run.clocks.mem_mhz),
        # The fields of `PowerSpread` have the keys of the columns.
        **(vars(run.spread) if run.spread else {}),
        # Boards of one run can have different ratings. The highest one bounds the axis.
        "rated_w": None if None in ratings_w else max(w for w in ratings_w if w is not None),
        "max_60s_w": run.activity.max_60s_power_w,
        "active_percent": 100 * run.activity.active_share,
        "utilisation_percent": run.activity.utilisation_percent,
        "run_s": run.activity.run_s,
        "run_kj": run.activity.run_energy_j / 1e3,
        "held": row.cap_enforced,
        **make_mark_cells(row, link),
    }


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
