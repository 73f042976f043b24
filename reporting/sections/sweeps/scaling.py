"""Runs on several accelerators compared with runs on one."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

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
from reporting.sections.repeats import (
    BOARD_LIMIT_COLUMN,
    JOULES,
    RATE,
    ReportSpread,
    make_limit_cells,
    make_setting,
)
from reporting.sections.section import Section, WorkloadInput
from reporting.sections.shown_columns import ShownColumns
from reporting.sections.sweeps.points import make_point
from rules.metrics.figures import Estimate, estimate_mean
from rules.metrics.sweeps.points import average
from rules.metrics.sweeps.scaling import Scaling, compute_scaling
from rules.workloads import Workload


@dataclass(frozen=True)
class ScaledRun:
    """A run on several accelerators, compared with runs on one."""

    row: ResultRow
    references: Sequence[ResultRow]
    """The runs on one accelerator; empty without any."""
    scaling: Scaling | None
    """None without a run on one accelerator, or without energy."""


def find_scaled_runs(rows: Sequence[ResultRow]) -> list[ScaledRun]:
    """All rows with several accelerators, by their number, system and cap. `rows` are either all
    submitted rows or all demo rows."""
    scaled_rows = sorted(
        (row for row in rows if (row.count or 0) > 1),
        key=lambda row: (row.count or 0, row.system, row.cap_w or 0),
    )
    return [_compare_with_reference(row, find_reference_runs(row, rows)) for row in scaled_rows]


def find_reference_runs(row: ResultRow, rows: Sequence[ResultRow]) -> Sequence[ResultRow]:
    """The repeated runs on one accelerator, among the rows, that a row is compared with; empty
    without any."""
    return _choose_reference_runs(row, _group_reference_runs(rows)[_make_reference_key(row)])


def _group_reference_runs(
    rows: Sequence[ResultRow],
) -> Mapping[tuple[object, ...], Sequence[Sequence[ResultRow]]]:
    """The runs on one accelerator that other runs are compared with, by what both must share. They
    may win. Each list has repeats of one run."""
    repeats: dict[tuple[object, ...], dict[tuple[object, ...], list[ResultRow]]]
    repeats = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row.count == 1 and row.may_win and row.provenance:
            # Only runs of one kind are repeats of each other and may be averaged.
            repeats[_make_reference_key(row)][row.provenance.run.kind].append(row)
    return defaultdict(tuple, {key: tuple(kinds.values()) for key, kinds in repeats.items()})


def _choose_reference_runs(
    row: ResultRow, repeats: Sequence[Sequence[ResultRow]]
) -> Sequence[ResultRow]:
    """The runs that a row is compared with: repeated runs of the same system, before those with the
    same batch per accelerator, before the fastest."""
    # Runs of the same system share its host and cooling, so they are preferred.
    return max(
        repeats,
        key=lambda runs: (
            runs[0].system == row.system,
            _get_batch_per_accelerator(runs[0]) == _get_batch_per_accelerator(row),
            _compute_mean_throughput(runs),
        ),
        default=(),
    )


def _get_batch_per_accelerator(row: ResultRow) -> float | None:
    """The batch size of a rank, or the share of an accelerator in the requests in flight."""
    is_server = row.provenance is not None and row.provenance.run.requests is not None
    return row.batch_size / (row.count or 1) if is_server and row.batch_size else row.batch_size


def _compare_with_reference(row: ResultRow, references: Sequence[ResultRow]) -> ScaledRun:
    point, reference_points = (
        make_point(row),
        [reference_point for reference in references if (reference_point := make_point(reference))],
    )
    scaling = (
        compute_scaling(point, row.count or 0, average(reference_points))
        if point and reference_points
        else None
    )
    return ScaledRun(row, references, scaling)


def _compute_mean_throughput(rows: Sequence[ResultRow]) -> float:
    return estimate_mean([row.items_per_s_per_accelerator.value for row in rows]).mean


def _make_reference_key(row: ResultRow) -> tuple[object, ...]:
    requests = row.provenance.run.requests if row.provenance else None
    # More accelerators need more requests in flight, so the concurrency may differ.
    load = requests and (
        requests.prompt_tokens,
        requests.output_tokens,
        requests.rate_per_s,
        requests.uniform,
    )
    return row.workload, row.standing, row.variant, row.precision, row.model, row.cap_w, load


def build_scaling_table(
    workload: Workload,
    runs: Sequence[ScaledRun],
    link: BundleLink,
    id: str,
    title: str,
    spread: ReportSpread | None = None,
) -> ReportTable:
    """Runs on several accelerators compared with runs on one, and the spread between their
    accelerators. Without `spread`, the runs are compared with no others."""
    columns = add_mark_columns(
        quantity("line", title="run"),
        *quantities("count", "cap_w"),
        quantity(
            "items_per_s_per_accelerator",
            unit=f"{workload.item}s/s per accelerator",
            kinds=False,
        ),
        Column("on_one", "throughput on one", f"{workload.item}s/s", "number"),
        Column("speed_up", "speed-up", "", "number", interval=True),
        Column(
            "efficiency_percent",
            "scaling efficiency",
            "%",
            "number",
            about="speed-up / number of accelerators",
            interval=True,
        ),
        Column(
            "energy_per_item_ratio",
            "energy per item",
            "\u00d7 that on one",
            "number",
            interval=True,
        ),
        Column("active_apart_percent", "spread of active time", "%", "signed"),
        Column("power_apart_percent", "spread of power", "%", "signed"),
        Column("sm_apart_percent", "spread of SM clock", "%", "signed"),
        BOARD_LIMIT_COLUMN,
    )
    cells = tuple(
        read_cells(columns, run.row)
        | _make_cells(run, link, spread)
        | make_limit_cells(spread, RATE, run.row.model)
        for run in runs
    )
    return ReportTable(id, title, columns, cells, ABOUT)


ABOUT = (
    "Each run is compared with runs on one accelerator of the same model at the same cap: those "
    "of the same system, or else the fastest. The board may be another one. Repeated runs are "
    "averaged. Intervals say what other runs on other boards give. "
    "Spread is (largest \u2212 smallest) / mean of the accelerators over the scored "
    "epochs. Accelerators that synchronise in every step have equal active times."
)


def estimate_speed_up(
    rows: Sequence[ResultRow], references: Sequence[ResultRow], spread: ReportSpread
) -> Estimate:
    """The speed-up of repeated runs on several accelerators against runs on one, with the 95 %
    interval of other runs on other boards."""
    count = rows[0].count or 1
    return _estimate_ratio(rows, references, RATE, spread).transform(count)


def _estimate_ratio(
    rows: Sequence[ResultRow], references: Sequence[ResultRow], name: str, spread: ReportSpread
) -> Estimate:
    setting, reference = (make_setting(runs, spread) for runs in (rows, references))
    difference = setting.compare(reference, name, on_shared_boards=False)
    assert difference is not None
    percent = Estimate(difference.percent, len(rows), None, difference.ci95)
    return percent.transform(0.01, 1)


def _make_scaling_cells(run: ScaledRun, spread: ReportSpread | None) -> Cells:
    """The cells that compare a run with those on one accelerator; without `spread` they have no
    intervals."""
    scaling = run.scaling
    if scaling is None:
        return {}
    speed_up, energy = scaling.speed_up, scaling.energy_per_item_ratio
    if spread is None:
        speed_up, energy = replace(speed_up, ci95=None), replace(energy, ci95=None)
    else:
        speed_up = estimate_speed_up([run.row], run.references, spread)
        energy = _estimate_ratio([run.row], run.references, JOULES, spread)
    return {
        **make_estimate_cells("speed_up", speed_up),
        **make_estimate_cells("efficiency_percent", speed_up.transform(100 / scaling.accelerators)),
        **make_estimate_cells("energy_per_item_ratio", energy),
    }


def _make_cells(run: ScaledRun, link: BundleLink, spread: ReportSpread | None) -> Cells:
    row = run.row
    imbalance = row.provenance.run.imbalance if row.provenance else None
    # Accelerators that wait for each other have equal active times, so power and clock are shown
    # too.
    ranges = {
        "active": imbalance.active_time if imbalance else None,
        "power": imbalance.mean_power if imbalance else None,
        "sm": imbalance.mean_sm_clock if imbalance else None,
    }
    spreads = {
        f"{key}_apart_percent": None if share is None else share * 100
        for key, share in ranges.items()
    }
    return {
        **make_mark_cells(row, link),
        "on_one": _compute_mean_throughput(run.references) if run.references else None,
        **_make_scaling_cells(run, spread),
        **spreads,
    }


def _build_tables(part: WorkloadInput) -> Iterator[ReportTable]:
    if runs := find_scaled_runs(part.runs):
        title = part.make_title(f"scaling over accelerators{part.not_compared}")
        yield build_scaling_table(
            part.workload, runs, part.link, f"{part.id}-scaling", title, part.spread
        )


SECTION = Section(
    name="scaling",
    place=130,
    build_of_workload=_build_tables,
    demo_place=130,
    is_for_nodes=True,
    drawn_by=("rows.bars.build_scaling_chart",),
    charts={"bars": ShownColumns(("speed_up", "count"))},
    paper_keys=(
        *("line", "count", "cap_w", "speed_up", "efficiency_percent", "energy_per_item_ratio"),
        *(RATE, "on_one"),
    ),
)
