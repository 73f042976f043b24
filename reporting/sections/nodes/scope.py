"""The scope of whole nodes: the rows of results with the figures of node meters in place of those
of the accelerators, and the cells of tables that then differ.

The page shows these cells when its reader chooses this scope. They come from the same functions as
the tables, so no table computes a figure of nodes in another way.
"""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace

from reporting.report_table import ReportTable
from reporting.results_model import Figure, ResultRow
from reporting.sections.cells import Cells
from reporting.sections.nodes.power import find_excess
from rules.metrics.figures import Estimate


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
