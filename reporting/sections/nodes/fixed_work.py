"""Time and energy of a fixed amount of work: each compared run for the same number of items, and
what papers print of whole nodes."""

from collections.abc import Iterable, Sequence

from reporting.paper import Paper, PublishedWork
from reporting.quantities import name_line, quantity, read_cells
from reporting.report_table import Column, ReportTable, TableRow, format_number
from reporting.results_model import ResultRow
from reporting.sections.cells import IN_CHART, BundleLink, Cells, add_mark_columns, make_mark_cells
from reporting.sections.compare import format_comparison_group
from reporting.sections.nodes.power import explain_unranked
from reporting.sections.planning import DEFAULTS, Assumptions
from reporting.sections.section import Section
from reporting.sections.shown_columns import ShownColumns, get_number
from reporting.words import format_percent
from rules.metrics.comparison import JOULES_PER_KWH, relative_percent
from rules.metrics.fixed_work import FixedWork, compute_fixed_work
from rules.workloads import workloads

COLUMNS = add_mark_columns(
    Column("work", "work"),
    Column("result", "result"),
    quantity("batch", title="batch size", unit=""),
    quantity("cap_w"),
    Column("items", "items", "", "count"),
    Column("item", "item"),
    Column("hours", "time", "h", "number"),
    Column(
        "accelerators_kwh",
        "energy of the accelerators",
        "kWh",
        "number",
        interval=True,
    ),
    Column("node_kwh", "energy of the nodes", "kWh", "number", kinds=True),
    Column(
        "node_kw",
        "power of the nodes",
        "kW",
        "number",
        kinds=True,
        about="the mean; of published runs the median",
    ),
    Column("node_joules_per_item", "energy of the nodes per item", "J", "number", kinds=True),
    Column(
        "ratio",
        "ratio to the least energy",
        "",
        "number",
        about="energy of the nodes over the least of the same workload, standing, precision "
        "and number of accelerators, or of the same paper and work",
    ),
    quantity("active_percent", digits=3),
    quantity("utilisation_percent"),
    Column("note", "note", hidden=True),
    Column("place", "place in the source", hidden=True),
    Column(
        IN_CHART,
        "in the chart",
        hidden=True,
        about="whether its configuration has an energy at several batch sizes",
    ),
)


def build_fixed_work_table(
    rows: Sequence[ResultRow],
    papers: Iterable[Paper],
    link: BundleLink,
    assumptions: Assumptions = DEFAULTS,
) -> ReportTable | None:
    """Time, energy and power of each run that may win, the least energy of a comparison group
    first, then the published ones; None without any."""
    compared = [
        (row, _make_cells(row, link, assumptions))
        for row in rows
        if row.standing in ("closed", "open") and row.may_win and _has_energy(row)
    ]
    # Assumed energy of nodes is not compared with measured one.
    cells = _add_ratios(
        [
            (
                f"{row.workload}, {format_comparison_group(row)}, {row_cells['node_kwh_kind']}",
                row_cells,
            )
            for row, row_cells in compared
        ]
    )
    for paper in papers:
        cells += _add_ratios(
            [
                (f"{work.work}, {work.accelerators}", _make_published_cells(paper, work))
                for work in paper.fixed_work or ()
            ]
        )
    if not cells:
        return None
    share = f"{assumptions.node_share_w:g} W per {assumptions.node_share_accelerators} accelerators"
    about = ABOUT.format(share=share)
    return ReportTable("fixed-work", "Fixed work", COLUMNS, tuple(_mark_batches(cells)), about)


def _has_energy(row: ResultRow) -> bool:
    headline = row.provenance.run.headline if row.provenance else None
    return bool(headline and headline.joules_per_item)


ABOUT = (
    "Time and energy for the same number of items, as the scored epochs measured rate and J per "
    "item; start-up is not included. Where node meters measured the run, the energy of the nodes "
    "is theirs. Elsewhere it is assumed: that of the accelerators and {share} for the rest of the "
    "node (Mayr et al. 2026). Published figures are those of whole nodes. An active share or a "
    "utilisation far below 100 % means that something else than the accelerators limits the run."
)


def _make_cells(row: ResultRow, link: BundleLink, assumptions: Assumptions) -> Cells:
    assert row.provenance is not None and row.count
    run = row.provenance.run
    assert run.headline.joules_per_item is not None
    items, rate = assumptions.fixed_items, run.headline.items_per_s.mean
    accelerators = compute_fixed_work(items, rate, run.headline.joules_per_item)
    rest_w = assumptions.node_share_w / assumptions.node_share_accelerators * row.count
    measured = run.node.joules_per_item if run.node and not explain_unranked(row) else None
    nodes = (
        compute_fixed_work(items, rate, measured)
        if measured
        else compute_fixed_work(items, rate, run.headline.joules_per_item, rest_w)
    )
    energy_kwh = accelerators.energy_j.transform(1 / JOULES_PER_KWH)
    ci95 = row.joules_per_item and row.joules_per_item.ci95
    interval_kwh = [end * items / JOULES_PER_KWH for end in ci95 or ()]
    return {
        **read_cells(COLUMNS, row),
        **_make_node_cells(items, nodes, "measured" if measured else "assumed"),
        "work": row.workload,
        "item": workloads()[row.workload].item,
        "result": name_line(row),
        "accelerators_kwh": energy_kwh.mean,
        "accelerators_kwh_low": interval_kwh[0] if interval_kwh else None,
        "accelerators_kwh_high": interval_kwh[1] if interval_kwh else None,
        "accelerators_kwh_n": row.joules_per_item.n if row.joules_per_item else None,
        **make_mark_cells(row, link),
        # The notes on cautions are in the sections of workloads.
        "caution": None,
        # Workloads differ in what an item is, so each has lines of its own.
        "line": f"{row.workload} \u00b7 {name_line(row)}",
    }


def _make_node_cells(items: float, nodes: FixedWork, kind: str) -> Cells:
    energy_j = nodes.energy_j.mean
    return {
        "items": items,
        "hours": nodes.seconds / 3600,
        "node_kwh": energy_j / JOULES_PER_KWH,
        "node_kwh_kind": kind,
        "node_kw": nodes.mean_power_w / 1e3,
        "node_kw_kind": kind,
        "node_joules_per_item": energy_j / items,
        "node_joules_per_item_kind": kind,
    }


def _make_published_cells(paper: Paper, work: PublishedWork) -> Cells:
    """The figures as printed. J per item follows from two of them, so it is not printed."""
    energy_j = work.energy_j
    return {
        "work": work.work,
        "result": f"{paper.citation}: {work.accelerators} \u00d7 {work.accelerator}",
        "batch": work.batch_size,
        "cap_w": work.cap_w,
        "items": work.items,
        "item": work.item,
        "hours": work.seconds / 3600,
        "node_kwh": energy_j / JOULES_PER_KWH if energy_j else None,
        "node_kwh_kind": "printed",
        "node_kw": work.median_w / 1e3 if work.median_w else None,
        "node_kw_kind": "printed",
        "node_joules_per_item": energy_j / work.items if energy_j else None,
        "note": work.caution,
        "standing": paper.standing,
        "provenance": "published",
        "evidence": paper.citation,
        "url": paper.link,
        "line": f"{paper.citation} \u00b7 {work.accelerator}",
        "model": work.accelerator,
        "place": work.place,
    }


def _add_ratios(grouped_cells: Sequence[tuple[str, Cells]]) -> list[Cells]:
    """The cells by group, each group by energy, with the ratio to the least energy of the group."""
    groups: dict[str, list[Cells]] = {}
    for group, cells in grouped_cells:
        groups.setdefault(group, []).append(cells)
    rows = []
    for members in groups.values():
        energies = [energy for cells in members if (energy := cells["node_joules_per_item"])]
        least_j = min((float(energy) for energy in energies), default=None)
        for cells in sorted(members, key=lambda c: float(c["node_joules_per_item"] or 0)):
            energy_j = cells["node_joules_per_item"]
            ratio = float(energy_j) / least_j if energy_j and least_j else None
            rows.append({**cells, "ratio": ratio})
    return rows


def _mark_batches(rows: Sequence[Cells]) -> list[Cells]:
    """The rows, with the mark of those whose line has energies at several batch sizes."""
    batches: dict[tuple[object, ...], set[object]] = {}
    for row in rows:
        if row["batch"] and row["node_kwh"]:
            batches.setdefault((row["line"], row["work"]), set()).add(row["batch"])
    charted = {key for key, values in batches.items() if len(values) > 1}
    return [
        {**row, IN_CHART: bool(row["node_kwh"]) and (row["line"], row["work"]) in charted}
        for row in rows
    ]


def list_charted_work(table: ReportTable) -> dict[str, str]:
    """The work of each chart of the table, by the id of the chart. Items of different work are
    never on one axis."""
    works = dict.fromkeys(str(row["work"]) for row in table.rows if row[IN_CHART])
    return {f"{table.id}-batch-{place}": work for place, work in enumerate(works, start=1)}


def _describe_batches(rows: Sequence[TableRow]) -> str:
    """The batch size of least energy in a published series, against that of most energy. The table
    has no intervals of the energy of nodes, so there is no finding from measured rows."""
    series = {(row.get("line"), row.get("work"), row.get("items")) for row in rows}
    if len(series) != 1 or any(row["standing"] != "published" for row in rows):
        return ""
    energies_kwh = {
        batch: kwh
        for row in rows
        if (batch := get_number(row, "batch")) and (kwh := get_number(row, "node_kwh"))
    }
    if len(energies_kwh) < 2:
        return ""
    best, worst = (choose(energies_kwh, key=energies_kwh.__getitem__) for choose in (min, max))
    percent = relative_percent(energies_kwh[best], energies_kwh[worst])
    batches = [format_number(batch, 1) for batch in (best, worst)]
    return (
        f"Published: batch size {batches[0]} needs {format_percent(percent)} less energy than "
        f"batch size {batches[1]}"
    )


def _list_charts(table: ReportTable) -> dict[str, ShownColumns]:
    return {
        chart_id.removeprefix(f"{table.id}-"): ShownColumns(
            ("node_kwh", "batch"),
            find=_describe_batches,
            finds_published=True,
            only=("work", work),
        )
        for chart_id, work in list_charted_work(table).items()
    }


SECTION = Section(
    name="fixed-work",
    place=150,
    build=lambda page: [build_fixed_work_table(page.rows, page.papers, page.link)],
    is_across=True,
    drawn_by=("fixed_work.build_fixed_work_charts",),
    charts=_list_charts,
    paper_keys=(
        *("result", "batch", "cap_w", "hours", "node_kwh", "ratio", "node_joules_per_item"),
        *("node_kw", "work", "accelerators_kwh"),
    ),
)
