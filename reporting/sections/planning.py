"""The tables for planning: cost and carbon of a workload at a site, and nodes per rack.

Their defaults are assumptions that the page names. The page recomputes the rows when its reader
changes one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from reporting.report_table import Column, ReportTable
from reporting.results_model import ResultRow
from reporting.sections.cells import MARK_COLUMNS, SCOPE, BundleLink, Cells, make_mark_cells
from reporting.sections.compare import format_comparison_group, format_label
from rules.metrics import comparison
from rules.run_profile import PUBLISHED_NODES, NodePower, PublishedNodePower
from rules.workloads import workloads


@dataclass(frozen=True)
class Assumptions:
    """Values that are assumed, not measured. `weight` is that of energy relative to performance."""

    price_per_kwh: float = 0.25
    """In EUR."""
    gco2e_per_kwh: float = 400
    pue: float = 1.3
    millions_per_day: float = 100
    weight: float = 0.5
    scaling: Literal["printed", "equal"] = "equal"
    rack_kw: float = 40


DEFAULTS = Assumptions()


WHAT_IF_COLUMNS = (
    Column("result", "result"),
    Column("workload", "workload"),
    Column(
        "rank",
        "rank",
        "",
        "count",
        about="by score; submitted and published results of a workload are ranked separately",
    ),
    Column(
        "score",
        "score",
        "",
        "number",
        about="100 is the highest throughput at zero energy; see the formula",
    ),
    Column(
        "items_per_s_per_accelerator",
        "throughput",
        "items/s per accelerator",
        "number",
        kinds=True,
    ),
    Column(
        "power_w",
        "power",
        "W per accelerator",
        "number",
        kinds=True,
        about="measured mean power, or the cap where no power was measured",
    ),
    Column("joules_per_item", "energy", "J/item", "number", kinds=True),
    Column("eur_per_million", "cost", "EUR per million items", "number"),
    Column("gco2e_per_million", "carbon", "gCO2e per million items", "number"),
    Column("eur_per_year", "cost", "EUR a year", "number"),
    Column("kgco2e_per_year", "carbon", "kgCO2e a year", "number"),
    Column(
        "accelerators_needed",
        "accelerators needed",
        "",
        "count",
        about="for the load, spread evenly over the day",
    ),
    Column("like", "precision and number of accelerators"),
    # The standing is in a column of its own, after these.
    *(column for column in MARK_COLUMNS if column.key != "standing"),
    Column("standing", "standing", hidden=True),
    Column("cap_w", "cap", "W per accelerator", "count", hidden=True),
)


def build_what_if_table(
    rows: Sequence[ResultRow], link: BundleLink, assumptions: Assumptions = DEFAULTS
) -> ReportTable | None:
    """Cost, carbon and score of each comparable result, by workload and rank; None without
    results."""
    cells: list[Cells] = []
    for workload in workloads().values():
        candidates = [
            row
            for row in rows
            if row.workload == workload.id and row.comparable and row.joules_per_item
        ]
        # The energy of published results is assumed, so they are ranked separately.
        for standings in (("closed", "open"), ("published",)):
            ranking = _rank([row for row in candidates if row.standing in standings], assumptions)
            cells += [
                _make_what_if_cells(result.row, link, assumptions)
                | {"score": result.score, "rank": result.rank}
                for result in ranking
            ]
    if not cells:
        return None
    return ReportTable("what-if", "What-if analysis", WHAT_IF_COLUMNS, tuple(cells), WHAT_IF_ABOUT)


WHAT_IF_ABOUT = (
    "Energy is that of the accelerators times the PUE. It does not include idle time, hosts and "
    "network. Submitted and published results of a workload are ranked separately; the energy of "
    "published results is assumed. Precision and number of accelerators may differ within a "
    "ranking; the table has a column for them."
)


def _make_what_if_cells(row: ResultRow, link: BundleLink, assumptions: Assumptions) -> Cells:
    assert row.joules_per_item is not None
    joules, rate = row.joules_per_item.value, row.items_per_s_per_accelerator.value
    kwh_per_million = comparison.site_kwh(joules, 1e6, assumptions.pue)
    kwh_per_year = comparison.site_kwh(
        joules, comparison.items_per_year(assumptions.millions_per_day), assumptions.pue
    )
    power_w, kind = (
        # A published result has no measured power, so its cap stands for it.
        (row.mean_power_w.value, "measured") if row.mean_power_w else (row.cap_w, "assumed")
    )
    return {
        **make_mark_cells(row, link),
        "workload": row.workload,
        "result": format_label(row),
        "items_per_s_per_accelerator": rate,
        "items_per_s_per_accelerator_kind": row.items_per_s_per_accelerator.kind,
        "power_w": power_w,
        "power_w_kind": kind,
        "joules_per_item": joules,
        "joules_per_item_kind": row.joules_per_item.kind,
        "eur_per_million": kwh_per_million * assumptions.price_per_kwh,
        "gco2e_per_million": kwh_per_million * assumptions.gco2e_per_kwh,
        "eur_per_year": kwh_per_year * assumptions.price_per_kwh,
        "kgco2e_per_year": kwh_per_year * assumptions.gco2e_per_kwh / 1e3,
        "accelerators_needed": comparison.accelerators_needed(assumptions.millions_per_day, rate),
        "like": format_comparison_group(row),
        "cap_w": row.cap_w,
    }


@dataclass(frozen=True)
class ScoredResult:
    """A result with its score and its rank among the results that it is ranked with."""

    row: ResultRow
    score: float
    rank: int


def _rank(rows: Sequence[ResultRow], assumptions: Assumptions) -> list[ScoredResult]:
    """The rows by score, highest first. Every row has an energy per item."""
    if not rows:
        return []
    highest_rate = max(row.items_per_s_per_accelerator.value for row in rows)
    highest_joules = max(_get_joules_per_item(row) for row in rows)

    def compute_score(row: ResultRow) -> float:
        performance_percent = 100 * row.items_per_s_per_accelerator.value / highest_rate
        return comparison.score(
            _get_joules_per_item(row),
            highest_joules,
            performance_percent,
            assumptions.weight,
            assumptions.scaling,
        )

    # Ties keep the order of the rows, so that the report is the same every time.
    scored_rows = sorted(((row, compute_score(row)) for row in rows), key=lambda pair: -pair[1])
    return [
        ScoredResult(row, score, rank) for rank, (row, score) in enumerate(scored_rows, start=1)
    ]


def _get_joules_per_item(row: ResultRow) -> float:
    assert row.joules_per_item is not None
    return row.joules_per_item.value


def build_rack_table(
    rows: Sequence[ResultRow], link: BundleLink, assumptions: Assumptions = DEFAULTS
) -> ReportTable:
    """Power of nodes compared with their rated power, and the number of nodes per rack:
    published nodes, and the accelerators of submitted runs."""
    columns = (
        Column("what", "node"),
        Column("work", "workload"),
        Column("scope", "scope", about="what the power measurement covers"),
        Column("accelerators", "accelerators", "", "count"),
        Column("median_w", "median", "W", "number", kinds=True),
        Column("p95_w", "95th percentile", "W", "number"),
        Column("max_w", "maximum", "W", "number", kinds=True),
        Column("rated_w", "rated power", "W", "count"),
        Column("max_percent", "maximum / rated power", "%", "number", 3),
        Column(
            "fit_rated",
            "nodes per rack by rated power",
            "",
            "count",
            about="rack limit / rated power, rounded down",
        ),
        Column(
            "fit_max",
            "nodes per rack by maximum power",
            "",
            "count",
            about="rack limit / maximum measured power, rounded down",
        ),
        Column(
            "further",
            "additional nodes",
            "",
            "count",
            about="nodes per rack by maximum power minus nodes per rack by rated power",
        ),
        *(column for column in MARK_COLUMNS if column.key not in ("scope", "evidence", "line")),
    )
    limit_w = assumptions.rack_kw * 1e3
    cells = [_make_published_node_cells(node, limit_w) for node in PUBLISHED_NODES]
    cells += [
        _make_submitted_node_cells(row, node, link, limit_w)
        for row, node in _select_highest_power(rows)
    ]
    return ReportTable("rack", "Rack planner", columns, tuple(cells), RACK_ABOUT)


RACK_ABOUT = (
    "Power of whole nodes comes from published measurements. Bundles measure accelerators only: "
    "a submitted run shows the sum of its accelerators, averaged over one second, without hosts, "
    "fans and network. For each system and number of accelerators, the table shows the run with "
    "the highest power."
)


def _select_highest_power(rows: Sequence[ResultRow]) -> list[tuple[ResultRow, NodePower]]:
    """For each system and number of accelerators, the run and node with the highest power."""
    highest_by_key: dict[tuple[str, int], tuple[ResultRow, NodePower]] = {}
    for row in rows:
        # Demo runs are small or simulated, so their power is not that of a loaded node.
        for node in row.provenance.run.nodes if row.provenance and row.standing != "demo" else ():
            key = row.system, node.accelerators
            # A rack is planned for the highest power, not for a mean.
            if key not in highest_by_key or node.max_w > highest_by_key[key][1].max_w:
                highest_by_key[key] = row, node
    return [highest_by_key[key] for key in sorted(highest_by_key)]


def _make_submitted_node_cells(
    row: ResultRow, node: NodePower, link: BundleLink, limit_w: float
) -> Cells:
    return {
        **{
            key: value
            for key, value in make_mark_cells(row, link).items()
            if key not in ("scope", "evidence", "line")
        },
        "what": f"{row.system}, {node.node}",
        "work": f"{row.workload} {row.variant}, cap {row.cap_w:g} W"
        if row.cap_w
        else f"{row.workload} {row.variant}",
        "scope": SCOPE,
        "accelerators": node.accelerators,
        "median_w": node.median_w,
        "median_w_kind": "measured",
        "p95_w": node.p95_w,
        "max_w": node.max_w,
        "max_w_kind": "measured",
        "rated_w": node.rated_w,
        **_make_fit_cells(node.max_w, node.rated_w, limit_w),
    }


def _make_published_node_cells(node: PublishedNodePower, limit_w: float) -> Cells:
    return {
        "what": f"{node.source}, {node.accelerators} \u00d7 {node.accelerator}",
        "work": node.work,
        "scope": "whole node",
        "accelerators": node.accelerators,
        "median_w": node.median_w,
        "median_w_kind": "printed",
        "max_w": node.max_w,
        "max_w_kind": "printed",
        "rated_w": node.rated_w,
        **_make_fit_cells(node.max_w, node.rated_w, limit_w),
        "standing": "published",
        "url": node.url,
        "model": node.accelerator,
    }


def _make_fit_cells(max_w: float, rated_w: float | None, limit_w: float) -> Cells:
    if rated_w is None:
        return {}
    by_rating, by_maximum = (
        comparison.nodes_that_fit(limit_w, rated_w),
        comparison.nodes_that_fit(limit_w, max_w),
    )
    # `relative_percent` is the difference from 100 %.
    max_percent = comparison.relative_percent(max_w, rated_w) + 100
    return {
        "max_percent": max_percent,
        "fit_rated": by_rating,
        "fit_max": by_maximum,
        "further": by_maximum - by_rating,
    }
