"""What node meters measured: the second scope of the report, never mixed with the figures of the
accelerators."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from reporting.quantities import NODE_SCOPE, quantities, quantity, read_cells
from reporting.report_table import Column, ReportTable
from reporting.results_model import ResultRow
from reporting.sections.cells import (
    FACET_COLUMNS,
    BundleLink,
    Cells,
    add_mark_columns,
    make_estimate_cells,
    make_facet_cells,
    make_mark_cells,
)
from reporting.sections.section import Section
from reporting.sections.sweeps.caps import CapSweep, find_sweeps
from reporting.sections.sweeps.gains import list_not_told_apart
from rules.declarations.system import MeterDeclaration
from rules.metrics.node.figures import NodeHeadline
from rules.metrics.sweeps.best_settings import Metric
from rules.metrics.sweeps.gains import Comparison, compare
from rules.metrics.sweeps.points import Point, combine
from rules.metrics.uncertainty.propagation import estimate_spread_within_run
from rules.workloads import Workload

CONTROL = (
    "mean power of the nodes over their median power in a control run of the same accelerators at "
    "the same cap"
)
COVERS_MORE = "N113"
"""The rule that reports meters that cover more than the run. Such figures rank nowhere."""


def build_node_table(
    workload: Workload, rows: Sequence[ResultRow], link: BundleLink, id: str, title: str
) -> ReportTable | None:
    """The runs with figures of nodes, the least energy per item first; those that rank nowhere come
    last. None without such a run."""
    measured = [
        (row, row.provenance.run.node)
        for row in rows
        if row.provenance and row.provenance.run.node is not None
    ]
    if not measured:
        return None
    measured.sort(key=lambda pair: (explain_unranked(pair[0]) is not None, _get_energy_j(pair[1])))
    columns = add_mark_columns(
        quantity("line", title="run"),
        quantity("cap_w"),
        Column("nodes", "nodes", "", "count"),
        quantity("node_joules_per_item", unit=f"J/{workload.item}"),
        quantity("node_items_per_joule", unit=f"{workload.item}s/J"),
        *quantities("node_mean_power_w", "node_median_power_w", "node_p95_power_w"),
        *quantities("node_max_power_w", "node_max_60s_power_w", "node_rated_w"),
        *(
            (Column("node_rated_source", "rated power stated in"),)
            if any(_list_rating_sources(row) for row, _ in measured)
            else ()
        ),
        Column(
            "node_over_accelerators",
            "node / accelerators",
            "",
            "number",
            interval=True,
            about="energy of the nodes over that of their accelerators in the same time",
        ),
        *(
            (Column("node_control_percent", "share of control", "%", "number", 3, about=CONTROL),)
            if any(row.control and row.control.node_share is not None for row, _ in measured)
            else ()
        ),
        Column("node_level", "level", about="EE HPC WG level, derived from the evidence"),
        Column("meters", "meters", about="kind, place and current of each meter of record"),
        Column("unranked", "not ranked because"),
    )
    cells = tuple(read_cells(columns, row) | _make_cells(row, node, link) for row, node in measured)
    return ReportTable(id, title, columns, cells, ABOUT)


ABOUT = (
    "Measured by node meters at the place that is named, from the first batch of an epoch to its "
    "last. These figures contain the accelerators. They are a scope of their own: no table adds "
    "them to the energy of accelerators, and only that of gains of whole nodes shows both scopes "
    "side by side. Power is that of all "
    "nodes of the run together. Median, p95 and maximum are on a grid of 1 s over the scored "
    "epochs."
)


def explain_unranked(row: ResultRow) -> str | None:
    """Why the figures of nodes of a run rank nowhere; None if they may."""
    return find_excess(row) or row.doubt or row.implausible or row.withheld


def find_excess(row: ResultRow) -> str | None:
    """What the meters of a run cover beside its nodes; None if they cover no more."""
    findings = row.provenance.findings if row.provenance else ()
    return next((finding.found for finding in findings if finding.rule == COVERS_MORE), None)


def _get_energy_j(node: NodeHeadline) -> float:
    return node.joules_per_item.mean if node.joules_per_item else float("inf")


def _make_cells(row: ResultRow, node: NodeHeadline, link: BundleLink) -> Cells:
    assert row.provenance is not None
    system, sources = row.provenance.run.system, _list_rating_sources(row)
    return {
        **make_mark_cells(row, link),
        "scope": NODE_SCOPE,
        "nodes": len(system.nodes),
        **(
            {"node_control_percent": row.control.node_share * 100}
            if row.control and row.control.node_share is not None
            else {}
        ),
        **({"node_rated_source": "; ".join(sources)} if sources else {}),
        **make_estimate_cells("node_over_accelerators", node.over_accelerators),
        "node_level": f"level {node.level}" if node.level else "none",
        "meters": "; ".join(map(_describe_meter, system.meters_of_record)),
        "unranked": explain_unranked(row),
    }


def _list_rating_sources(row: ResultRow) -> list[str]:
    """Where the rated powers of the nodes of a run are stated, each once."""
    assert row.provenance is not None
    sources = (node.rated_source for node in row.provenance.run.system.nodes)
    return list(dict.fromkeys(filter(None, sources)))


def _describe_meter(meter: MeterDeclaration) -> str:
    accuracy = "" if meter.accuracy_percent is None else f", {meter.accuracy_percent:g} %"
    name = meter.model or meter.kind
    return f"{name}, {meter.location}, {meter.current.upper()}{accuracy}"


_GAINS = {
    "energy_gain_percent": ("energy gain", "%", Metric("energy")),
    "gain_minus_extra_time_points": (
        "gain \u2212 extra time",
        "points",
        Metric("gain minus extra time"),
    ),
    "edp_gain_percent": ("EDP gain", "%", Metric("EDP")),
    "eds_gain_k15_percent": ("EDS gain, k = 1.5", "%", Metric("EDS", 1.5)),
    "eds_gain_k2_percent": ("EDS gain, k = 2", "%", Metric("EDS", 2.0)),
}
"""Title, unit and metric of each gain, by its key."""


def build_node_gain_table(
    workload: Workload, cap_sweeps: Sequence[CapSweep], id: str, title: str
) -> ReportTable | None:
    """The gains of whole nodes beside those of their accelerators, at each cap of each sweep; None
    unless node meters measured two caps of a sweep, among them the default cap."""
    columns = (
        Column("line", "sweep"),
        quantity("cap_w"),
        quantity("node_joules_per_item", unit=f"J/{workload.item}", interval=False),
        *(
            Column(f"{prefix}{key}", head.format(title), unit, "signed", interval=True)
            for key, (title, unit, _) in _GAINS.items()
            for prefix, head in (("node_", "node {}"), ("", "{} of the accelerators"))
        ),
        Column("not_told_apart", "node gains not told from the default cap"),
        *(column for column in FACET_COLUMNS if column.key not in ("cap_w", "scope")),
    )
    cells = [row for sweep in cap_sweeps for row in _make_node_gain_cells(sweep)]
    return ReportTable(id, title, columns, tuple(cells), GAIN_ABOUT) if cells else None


GAIN_ABOUT = (
    "Gains against the default cap for the same work. The node contains its host and the boards "
    "that the run does not use. Their power hardly follows the cap, so the accelerators alone "
    "usually show a higher gain than the node."
)


def _make_node_gain_cells(sweep: CapSweep) -> Iterator[Cells]:
    rows = [row for cap in sweep.caps for row in cap.rows]
    points = combine([point for row in rows if (point := _make_node_point(row))])
    by_cap = {cap.point.cap_w: cap.comparison for cap in sweep.caps}
    # A row has both scopes.
    facets = {
        cap.point.cap_w: {k: v for k, v in make_facet_cells(cap.rows[0]).items() if k != "scope"}
        for cap in sweep.caps
    }
    reference = next((p for p in points if p.cap_w == sweep.reference_cap_w), None)
    if len(points) < 2 or reference is None:
        return
    for point in points:
        of_node, of_boards = compare(point, reference), by_cap[point.cap_w]
        if of_boards is None:
            continue
        yield {
            **facets[point.cap_w],
            "line": sweep.name,
            "node_joules_per_item": point.joules_per_item,
            **_make_gain_cells("node_", of_node),
            **_make_gain_cells("", of_boards),
            "not_told_apart": None
            if of_node.energy_gain_percent.ci95 is None
            else ", ".join(n for n in list_not_told_apart(of_node) if "gain" in n) or "none",
        }


def _make_gain_cells(prefix: str, comparison: Comparison) -> Cells:
    cells: Cells = {}
    for key, (_, _, metric) in _GAINS.items():
        cells |= make_estimate_cells(f"{prefix}{key}", metric.select_gain(comparison))
    return cells


def _make_node_point(row: ResultRow) -> Point | None:
    """The point of a row with the energy of its nodes; None if they rank nowhere."""
    run = row.provenance.run if row.provenance else None
    if run is None or run.node is None or explain_unranked(row):
        return None
    return make_headline_point(row)


def make_headline_point(row: ResultRow) -> Point | None:
    """The point of a row with the energy of its nodes, whether or not they rank; None without
    it."""
    run = row.provenance.run if row.provenance else None
    if run is None or run.node is None or run.node.joules_per_item is None:
        return None
    headline = replace(
        run.headline,
        joules_per_item=run.node.joules_per_item,
        mean_power_w_per_accelerator=run.node.mean_power_w,
    )
    return Point(
        row.cap_w,
        headline.items_per_s.mean,
        run.node.joules_per_item.mean,
        row.cap_enforced,
        spread=estimate_spread_within_run(headline),
    )


SECTION = Section(
    name="nodes",
    place=140,
    build_of_workload=lambda part: [
        build_node_table(*part.describe_runs("nodes", f"node power{part.not_compared}"))
    ],
    demo_place=140,
)
GAINS_SECTION = Section(
    name="node-gains",
    place=115,
    build_of_workload=lambda part: [
        build_node_gain_table(
            part.workload,
            find_sweeps(part.runs),
            f"{part.id}-node-gains",
            part.make_title("gains of whole nodes"),
        )
    ],
    demo_place=115,
)
