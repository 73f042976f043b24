"""The scope of whole nodes: the rows of results with the figures of node meters in place of those
of the accelerators, and the cells of tables that then differ.

The page shows these cells when its reader chooses this scope. They come from the same functions as
the tables, so no table computes a figure of nodes in another way.
"""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace

from reporting.report_table import ReportTable
from reporting.results_model import Figure, ResultRow, sort_results
from reporting.sections.best import build_best_table
from reporting.sections.cells import BundleLink, Cells
from reporting.sections.compare import build_compare_table
from reporting.sections.evidence import build_evidence_table
from reporting.sections.nodes.power import find_excess
from reporting.sections.overview import (
    build_system_table,
    build_workloads_table,
)
from reporting.sections.planning import build_what_if_table
from reporting.sections.repeats import ReportSpread
from reporting.sections.results import build_results_table
from reporting.sections.serving import build_serving_table
from reporting.sections.spread import build_epochs_table, build_repeats_table
from reporting.sections.sweeps.axes import build_axis_tables
from reporting.sections.sweeps.caps import build_peak_table, build_sweep_table, find_sweeps
from reporting.sections.sweeps.gains import build_settings_table
from reporting.sections.sweeps.same_boards import build_same_boards_table
from reporting.sections.sweeps.scaling import build_scaling_table, find_scaled_runs
from reporting.sections.token_energy import build_token_energy_table
from reporting.sections.variants import build_tuned_table
from rules.metrics.figures import Estimate
from rules.workloads import Workload, workloads


def select_node_rows(rows: Iterable[ResultRow]) -> list[ResultRow]:
    """The runs with figures of nodes, with these figures. Runs whose meters cover more than their
    nodes are left out."""
    return [node_row for row in rows if (node_row := _replace_figures(row)) is not None]


def _replace_figures(row: ResultRow) -> ResultRow | None:
    run = row.provenance.run if row.provenance else None
    nodes = run.nodes_within_run if run else None
    if row.provenance is None or run is None or nodes is None or find_excess(row):
        return None
    node = nodes.headline
    if node.joules_per_item is None or node.items_per_joule is None:
        return None
    power_w = _divide(node.mean_power_w, len(run.accelerators))
    headline = replace(
        run.headline,
        joules_per_item=node.joules_per_item,
        items_per_joule=node.items_per_joule,
        mean_power_w_per_accelerator=power_w,
    )
    within_run = replace(run.within_run, headline=headline, joules_per_item=nodes.joules_per_item)
    node_run = replace(run, within_run=within_run)
    control = row.control
    return replace(
        row,
        joules_per_item=_make_figure(node.joules_per_item),
        items_per_joule=_make_figure(node.items_per_joule),
        mean_power_w=_make_figure(power_w),
        # The naive estimate is one of boards.
        naive=None,
        control=replace(control, share=control.node_share)
        if control and control.node_share is not None
        else None,
        provenance=replace(row.provenance, run=node_run),
        is_of_nodes=True,
    )


def _make_figure(estimate: Estimate) -> Figure:
    return Figure(estimate.mean, "measured", estimate.n, estimate.ci95)


def _divide(estimate: Estimate, count: int) -> Estimate:
    return Estimate(
        estimate.mean / count,
        estimate.n,
        None if estimate.sd is None else estimate.sd / count,
        None if estimate.ci95 is None else (estimate.ci95[0] / count, estimate.ci95[1] / count),
    )


def build_node_scope_tables(
    node_rows: Sequence[ResultRow],
    system_tables: Sequence[ReportTable],
    link: BundleLink,
    spread: ReportSpread,
) -> list[ReportTable]:
    """The tables that have figures of nodes in the scope of whole nodes, among them those of
    systems. Their titles are not shown."""
    tables = [
        build_workloads_table(node_rows, spread),
        build_evidence_table(node_rows, link),
        build_what_if_table(node_rows, link, spread),
    ]
    # Rows of other systems are not in the table of a system.
    tables += [build_system_table(node_rows, table.id, "", link) for table in system_tables]
    for workload in workloads().values():
        rows = [row for row in node_rows if row.workload == workload.id]
        submitted = [row for row in rows if row.standing in ("closed", "open")]
        demo = [row for row in rows if row.standing == "demo"]
        tables += _build_workload_tables(workload, submitted, link, workload.id, spread)
        tables += _build_workload_tables(workload, demo, link, f"{workload.id}-demo", None)
        tables += (
            build_best_table(workload, submitted, link, f"{workload.id}-best", spread),
            build_compare_table(workload, submitted, link, f"{workload.id}-compare", spread),
            build_tuned_table(workload, submitted, link, f"{workload.id}-tuned", spread),
        )
    return [table for table in tables if table is not None]


def _build_workload_tables(
    workload: Workload,
    rows: Sequence[ResultRow],
    link: BundleLink,
    id: str,
    spread: ReportSpread | None,
) -> Iterator[ReportTable | None]:
    if not rows:
        return
    yield build_results_table(workload, sort_results(rows), link, f"{id}-results", "", spread)
    yield build_serving_table(rows, link, f"{id}-serving", "")
    yield build_token_energy_table(workload, rows, f"{id}-tokens", "")
    yield build_epochs_table(workload, rows, link, f"{id}-epochs", "", spread)
    yield build_repeats_table(workload, rows, link, f"{id}-repeats", "")
    yield build_scaling_table(workload, find_scaled_runs(rows), link, f"{id}-scaling", "", spread)
    yield from build_axis_tables(workload, rows, link, id, "", spread)
    if sweeps := find_sweeps(rows):
        yield build_sweep_table(workload, sweeps, link, f"{id}-sweeps", "")
        yield build_peak_table(workload, sweeps, f"{id}-peaks", "")
        compared = [settings for sweep in sweeps if (settings := sweep.compared_settings)]
        yield build_settings_table(compared, f"{id}-settings", "")
        yield build_same_boards_table(compared, spread, f"{id}-cap-boards", "")


def find_node_cells(
    tables: Sequence[ReportTable], node_tables: Sequence[ReportTable]
) -> dict[str, dict[int, Cells]]:
    """The cells of whole nodes that differ from those of accelerators, by the id of a table and the
    number of its row. `node_tables` are tables of the rows of `select_node_rows`.

    A row has figures of nodes if they are of the same bundles, sweep or group.
    """
    tables_by_id = {table.id: table for table in tables}
    return {
        node_table.id: _compare_rows(tables_by_id[node_table.id], node_table)
        for node_table in node_tables
        if node_table.id in tables_by_id
    }


def _compare_rows(table: ReportTable, node_table: ReportTable) -> dict[int, Cells]:
    places = {identity: place for place, identity in _list_identities(table)}
    pairs = {
        places[identity]: (table.rows[places[identity]], node_table.rows[node_place])
        for node_place, identity in _list_identities(node_table)
        if identity in places
    }
    names = {node_row.get("result"): row.get("result") for row, node_row in pairs.values()}
    cells_by_row: dict[int, Cells] = {}
    for place, (row, node_row) in sorted(pairs.items()):
        cells: Cells = {
            key: node_row.get(key)
            for key in table.keys
            if key not in table.name_keys and node_row.get(key) != row[key]
        }
        if "against" in table.keys and (against := names.get(node_row.get("against"))):
            cells["against"] = against
        cells_by_row[place] = cells
    return cells_by_row


def _list_identities(table: ReportTable) -> Iterator[tuple[int, Hashable]]:
    """The number of each row and what it is of, without rows that have no bundle."""
    if table.identities:
        yield from enumerate(table.identities)
        return
    for place, row in enumerate(table.rows):
        if bundles := row.get("bundle"):
            yield place, frozenset(str(bundles).split())
