"""The content of the page as tables: an overview, one section per workload, and one part per
system."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from reporting.collect import Collected, read_bundle
from reporting.report_table import ReportTable
from reporting.results_model import (
    ResultRow,
    drop_shared_words,
    find_shared_words,
    sort_results,
)
from reporting.rounds.changes import RoundChanges
from reporting.rounds.compare import compare_rounds
from reporting.rounds.earlier import EarlierRound
from reporting.rounds.table import build_change_counts_table, build_changes_table
from reporting.sections import best, compare, overview, planning, results, variants
from reporting.sections.cells import BundleLink, Cells
from reporting.sections.control import add_control_shares, build_control_table
from reporting.sections.data_sheets.boards import build_board_table
from reporting.sections.data_sheets.naive import build_naive_table
from reporting.sections.idle import build_idle_table
from reporting.sections.like_paper import PAPERS, build_like_table
from reporting.sections.nodes import racks
from reporting.sections.nodes.fixed_work import build_fixed_work_table
from reporting.sections.nodes.partly_used import build_partly_used_table
from reporting.sections.nodes.power import build_node_gain_table, build_node_table
from reporting.sections.nodes.scope import (
    build_node_scope_tables,
    find_node_cells,
    select_node_rows,
)
from reporting.sections.power_traces import build_trace_tables
from reporting.sections.repeats import ReportSpread, measure_spread, state_intervals
from reporting.sections.serving import build_serving_table
from reporting.sections.spread import build_epochs_table, build_repeats_table
from reporting.sections.sweeps.axes import build_axis_tables
from reporting.sections.sweeps.caps import build_peak_table, build_sweep_table, find_sweeps
from reporting.sections.sweeps.gains import build_settings_table
from reporting.sections.sweeps.published_settings import build_published_settings_table
from reporting.sections.sweeps.same_boards import build_same_boards_table
from reporting.sections.sweeps.scaling import build_scaling_table, find_scaled_runs
from reporting.sections.token_energy import build_token_energy_table
from reporting.sentences.other_sources import OtherSources, describe_other_sources
from reporting.sentences.page import PageSentences, build_page_sentences
from rules.workloads import Workload, workloads


@dataclass(frozen=True)
class WorkloadSection:
    """The tables of one workload: those of compared results, and those of demo runs, which are
    not compared."""

    workload: Workload
    tables: Sequence[ReportTable]
    demo: Sequence[ReportTable]
    submitted: int
    cautions: Sequence[str]
    """Footnotes without repeats, in the order of the rows."""
    simulated: bool
    """Whether the work of a demo run was simulated."""


@dataclass(frozen=True)
class SystemPart:
    """The stated facts of one system, and its runs."""

    name: str
    facts: Sequence[tuple[str, str]]
    table: ReportTable


@dataclass(frozen=True)
class NodeScope:
    """What the page shows in the scope of whole nodes, beside the tables of whole nodes."""

    cells: Mapping[str, Mapping[int, Cells]]
    """The cells that differ from those of accelerators, by the id of a table and the number of its
    row. Rows without them have no figures of nodes."""
    sentences: PageSentences
    spread: ReportSpread


@dataclass(frozen=True)
class PageModel:
    """All tables of the page. A table is None if it would be empty."""

    sections: Sequence[WorkloadSection]
    workloads: ReportTable
    excluded: ReportTable | None
    systems_table: ReportTable | None
    findings: ReportTable | None
    what_if: ReportTable | None
    rack: ReportTable | None
    whole_nodes: ReportTable | None
    fixed_work: ReportTable | None
    published_settings: ReportTable | None
    node_shares: Sequence[racks.NodeShare]
    naive: ReportTable | None
    boards: ReportTable
    control: ReportTable | None
    systems: Sequence[SystemPart]
    evidence: ReportTable | None
    spread: ReportSpread
    shared_words: str
    """What the names of all systems end with. Tables and charts leave it out."""
    sentences: PageSentences
    node_scope: NodeScope | None
    """None without figures of nodes."""
    collected: Collected
    earlier: EarlierRound | None
    changes: RoundChanges | None
    """None without an earlier round."""
    changes_table: ReportTable | None
    change_counts: ReportTable | None

    @property
    def runs(self) -> list[ResultRow]:
        """The runs of the bundles that passed."""
        return [row for row in self.collected.rows if row.provenance is not None]

    @property
    def has_demo(self) -> bool:
        """Whether a workload has demo runs."""
        return any(section.demo for section in self.sections)

    @property
    def tables(self) -> list[ReportTable]:
        """Every table, in the order of the page."""
        overview_tables = (
            self.workloads,
            self.excluded,
            self.systems_table,
            self.findings,
            self.changes_table,
            self.change_counts,
        )
        section_tables = [
            table for section in self.sections for table in (*section.tables, *section.demo)
        ]
        later_tables = (
            self.what_if,
            self.rack,
            self.whole_nodes,
            self.naive,
            self.fixed_work,
            self.published_settings,
            self.control,
            *(system.table for system in self.systems),
            self.boards,
            self.evidence,
        )
        return [
            table
            for table in (*overview_tables, *section_tables, *later_tables)
            if table is not None
        ]


def build_page_model(
    collected: Collected, link: BundleLink, earlier: EarlierRound | None = None
) -> PageModel:
    """Build the tables of everything collected, and of what changed since an earlier round."""
    rows = add_control_shares(collected.rows)
    spread = measure_spread(rows)
    named_rows = state_intervals(rows, spread)
    shared_words = find_shared_words(named_rows)
    rows = drop_shared_words(named_rows, shared_words)
    sections = [
        section
        for workload in workloads().values()
        if (section := _build_section(workload, rows, link, spread)) is not None
    ]
    naive = build_naive_table(rows, link)
    fixed_work = build_fixed_work_table(rows, collected.papers, link)
    passed_findings = collected.list_passed_findings()
    systems = _build_systems(named_rows, link)
    nodes = [*racks.list_measured_nodes(rows, link), *racks.list_published_nodes(collected.papers)]
    whole_nodes = racks.build_whole_nodes_table(nodes)
    workloads_table = overview.build_workloads_table(rows, spread)
    what_if = planning.build_what_if_table(rows, link, spread)
    evidence = overview.build_evidence_table(rows, link)
    section_tables = [table for section in sections for table in (*section.tables, *section.demo)]
    charted_tables = [
        table for table in (*section_tables, naive, fixed_work, whole_nodes) if table is not None
    ]
    changes = (
        compare_rounds(earlier.collected, collected, earlier.label, spread) if earlier else None
    )
    sources = describe_other_sources(collected.papers)
    sentences = build_page_sentences(rows, passed_findings, charted_tables, spread, link, sources)
    node_scope = _build_node_scope(
        rows,
        [
            workloads_table,
            *section_tables,
            *(table for table in (what_if, evidence) if table is not None),
        ],
        systems,
        link,
        sources,
    )
    if node_scope:
        sections = [_add_node_rows(section, node_scope.cells) for section in sections]
    card_order = [card.workload for card in sentences.cards]
    # Workloads with submitted results come first, in the order of the answer cards.
    sections.sort(key=lambda s: (not s.submitted, card_order.index(s.workload.id)))
    return PageModel(
        sections=sections,
        workloads=workloads_table,
        excluded=overview.build_excluded_table(rows, link),
        systems_table=overview.build_systems_table(named_rows) if systems else None,
        findings=overview.build_findings_table(passed_findings, collected.rejected),
        what_if=what_if,
        rack=racks.build_rack_table(nodes),
        node_shares=racks.list_node_shares(collected.papers),
        whole_nodes=whole_nodes,
        naive=naive,
        boards=build_board_table(),
        fixed_work=fixed_work,
        published_settings=build_published_settings_table(collected.papers),
        control=build_control_table(rows, link),
        systems=systems,
        evidence=evidence,
        spread=spread,
        shared_words=shared_words,
        sentences=sentences,
        node_scope=node_scope,
        collected=collected,
        earlier=earlier,
        changes=changes,
        changes_table=build_changes_table(changes, link) if changes else None,
        change_counts=build_change_counts_table(changes) if changes else None,
    )


def _build_node_scope(
    rows: Sequence[ResultRow],
    tables: Sequence[ReportTable],
    systems: Sequence[SystemPart],
    link: BundleLink,
    nodes: OtherSources,
) -> NodeScope | None:
    """The scope of whole nodes for the tables that have figures of them, and those of systems."""
    node_rows = select_node_rows(rows)
    if not node_rows:
        return None
    spread = measure_spread(node_rows)
    node_rows = state_intervals(node_rows, spread)
    system_tables = [system.table for system in systems]
    node_tables = build_node_scope_tables(node_rows, system_tables, link, spread)
    sentences = build_page_sentences(node_rows, (), node_tables, spread, link, nodes)
    cells = find_node_cells([*tables, *system_tables], node_tables)
    return NodeScope(cells, sentences, spread)


def _add_node_rows(
    section: WorkloadSection, cells: Mapping[str, Mapping[int, Cells]]
) -> WorkloadSection:
    """The section with the rows of whole nodes in its tables."""

    def add(table: ReportTable) -> ReportTable:
        cells_by_row = cells.get(table.id, {})
        node_rows = {place: {**table.rows[place], **row} for place, row in cells_by_row.items()}
        return replace(table, node_rows=node_rows) if node_rows else table

    tables, demo = (list(map(add, part)) for part in (section.tables, section.demo))
    return replace(section, tables=tables, demo=demo)


def _build_systems(rows: Sequence[ResultRow], link: BundleLink) -> list[SystemPart]:
    parts = []
    for place, (name, system_rows) in enumerate(overview.group_by_system(rows), start=1):
        table = overview.build_system_table(
            sort_results(system_rows), f"system-{place}", f"Runs on {name}", link
        )
        parts.append(SystemPart(name, overview.collect_facts(system_rows), table))
    return parts


def _build_section(
    workload: Workload, rows: Sequence[ResultRow], link: BundleLink, spread: ReportSpread
) -> WorkloadSection | None:
    workload_rows = [row for row in rows if row.workload == workload.id]
    # Control runs have a table of their own, which compares nothing.
    if not workload_rows or workload.is_control:
        return None
    submitted = sort_results([row for row in workload_rows if row.standing in ("closed", "open")])
    published = sorted(
        (row for row in workload_rows if row.standing == "published"),
        # By paper and board, because published results are not ranked.
        key=lambda row: (row.system, row.accelerator, row.cap_w or 0),
    )
    demo = sort_results([row for row in workload_rows if row.standing == "demo"])
    return WorkloadSection(
        workload=workload,
        tables=list(_build_compared_tables(workload, submitted, published, link, spread)),
        demo=list(_build_demo_tables(workload, demo, published, link)),
        submitted=len(submitted),
        # Several rows of a paper share a caution. The footnote is printed once.
        cautions=list(dict.fromkeys(row.caution for row in published if row.caution)),
        simulated=any(
            row.provenance is not None and row.provenance.run.is_simulated for row in demo
        ),
    )


def _build_compared_tables(
    workload: Workload,
    submitted: Sequence[ResultRow],
    published: Sequence[ResultRow],
    link: BundleLink,
    spread: ReportSpread,
) -> Iterator[ReportTable]:
    compared = (*submitted, *published)
    if not compared:
        return
    yield results.build_results_table(
        workload, compared, link, f"{workload.id}-results", f"{workload.title}: results", spread
    )
    tables = (
        best.build_best_table(workload, compared, link, f"{workload.id}-best", spread),
        compare.build_compare_table(workload, compared, link, f"{workload.id}-compare", spread),
        variants.build_tuned_table(workload, submitted, link, f"{workload.id}-tuned", spread),
        build_serving_table(
            submitted, link, f"{workload.id}-serving", f"{workload.title}: serving"
        ),
        build_token_energy_table(
            workload,
            submitted,
            f"{workload.id}-tokens",
            f"{workload.title}: energy by kind of token",
        ),
        build_like_table(workload, submitted, published, link, f"{workload.id}-like"),
    )
    yield from (table for table in tables if table is not None)
    yield from _build_run_tables(workload, submitted, link, workload.id, "", spread)


def _build_demo_tables(
    workload: Workload,
    demo: Sequence[ResultRow],
    published: Sequence[ResultRow],
    link: BundleLink,
) -> Iterator[ReportTable]:
    if not demo:
        return
    id = f"{workload.id}-demo"
    # Demo runs have no compared tables: nothing ranks them.
    title = f"{workload.title}: demo, serving, not compared"
    token_title = f"{workload.title}: demo, energy by kind of token"
    like_demo = [row for row in demo if row.variant in PAPERS]
    tables = (
        build_serving_table(demo, link, f"{id}-serving", title),
        build_token_energy_table(workload, demo, f"{id}-tokens", token_title),
        build_like_table(workload, like_demo, published, link, f"{id}-like", "demo, "),
    )
    yield from (table for table in tables if table is not None)
    yield from _build_run_tables(workload, demo, link, id, "demo, ", None)
    yield results.build_results_table(
        workload, demo, link, f"{id}-results", f"{workload.title}: demo runs, not compared"
    )


def _build_run_tables(
    workload: Workload,
    rows: Sequence[ResultRow],
    link: BundleLink,
    id: str,
    prefix: str,
    spread: ReportSpread | None,
) -> Iterator[ReportTable]:
    """The tables of sweeps, scaling and power. Without `spread`, the rows are not compared."""
    title_suffix = ", not compared" if prefix else ""
    if sweeps := find_sweeps(rows):
        yield build_sweep_table(
            workload,
            sweeps,
            link,
            f"{id}-sweeps",
            f"{workload.title}: {prefix}power-cap sweep{title_suffix}",
        )
        yield build_peak_table(
            workload, sweeps, f"{id}-peaks", f"{workload.title}: {prefix}efficiency peaks"
        )
        compared = [settings for sweep in sweeps if (settings := sweep.compared_settings)]
        settings_table = build_settings_table(
            compared, f"{id}-settings", f"{workload.title}: {prefix}best setting by metric"
        )
        title = f"{workload.title}: {prefix}caps on the same boards"
        boards_table = build_same_boards_table(compared, spread, f"{id}-cap-boards", title)
        title = f"{workload.title}: {prefix}gains of whole nodes"
        node_gain_table = build_node_gain_table(workload, sweeps, f"{id}-node-gains", title)
        sweep_tables = settings_table, boards_table, node_gain_table
        yield from (table for table in sweep_tables if table is not None)
    yield from build_axis_tables(workload, rows, link, id, prefix, spread)
    if scaled_runs := find_scaled_runs(rows):
        title = f"{workload.title}: {prefix}scaling over accelerators{title_suffix}"
        yield build_scaling_table(workload, scaled_runs, link, f"{id}-scaling", title, spread)
    title = f"{workload.title}: {prefix}node power{title_suffix}"
    if (nodes := build_node_table(workload, rows, link, f"{id}-nodes", title)) is not None:
        yield nodes
    title = f"{workload.title}: {prefix}idle power{title_suffix}"
    if (idle := build_idle_table(workload, rows, link, f"{id}-idle", title)) is not None:
        yield idle
    title = f"{workload.title}: {prefix}partly used nodes{title_suffix}"
    partly = build_partly_used_table(workload, rows, link, f"{id}-partly", title)
    if partly is not None:
        yield partly
    if rows:
        title = f"{workload.title}: {prefix}epochs within each run"
        yield build_epochs_table(workload, rows, link, f"{id}-epochs", title, spread)
        title = f"{workload.title}: {prefix}spread of repeats"
        yield build_repeats_table(workload, rows, link, f"{id}-repeats", title)
        yield results.build_power_table(
            workload, rows, link, f"{id}-power", f"{workload.title}: {prefix}clocks and power"
        )
    yield from build_trace_tables(rows, id, read_bundle)
