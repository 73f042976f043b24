"""The content of the page as tables: an overview, one section per workload, and one part per
system."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from reporting.collect import Collected
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
from reporting.sections import overview, planning
from reporting.sections.cells import BundleLink, Cells
from reporting.sections.control import add_control_shares, build_control_table
from reporting.sections.data_sheets.boards import build_board_table
from reporting.sections.data_sheets.naive import build_naive_table
from reporting.sections.evidence import build_evidence_table
from reporting.sections.nodes import racks
from reporting.sections.nodes.fixed_work import build_fixed_work_table
from reporting.sections.nodes.scope import (
    build_node_scope_tables,
    find_node_cells,
    select_node_rows,
)
from reporting.sections.repeats import ReportSpread, measure_spread, state_intervals
from reporting.sections.sweeps.published_settings import build_published_settings_table
from reporting.sentences.other_sources import OtherSources, describe_other_sources
from reporting.sentences.page import PageSentences, build_page_sentences
from reporting.workload_section import WorkloadSection, build_section
from rules.workloads import workloads


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
        return drop_none([*overview_tables, *section_tables, *later_tables])


def drop_none(tables: Iterable[ReportTable | None]) -> list[ReportTable]:
    """The tables that are not empty."""
    return [table for table in tables if table is not None]


def build_page_model(
    collected: Collected, link: BundleLink, earlier: EarlierRound | None = None
) -> PageModel:
    """Build the tables of everything collected, and of what changed since an earlier round."""
    rows = add_control_shares(collected.rows)
    spread = measure_spread(rows)
    named_rows = state_intervals(rows, spread)
    shared_words = find_shared_words(named_rows)
    rows = drop_shared_words(named_rows, shared_words)
    built = (build_section(workload, rows, link, spread) for workload in workloads().values())
    sections = [section for section in built if section is not None]
    naive = build_naive_table(rows, link)
    fixed_work = build_fixed_work_table(rows, collected.papers, link)
    passed_findings = collected.list_passed_findings()
    systems = _build_systems(named_rows, link)
    nodes = [*racks.list_measured_nodes(rows, link), *racks.list_published_nodes(collected.papers)]
    whole_nodes = racks.build_whole_nodes_table(nodes)
    workloads_table = overview.build_workloads_table(rows, spread)
    what_if = planning.build_what_if_table(rows, link, spread)
    evidence = build_evidence_table(rows, link)
    section_tables = [table for section in sections for table in (*section.tables, *section.demo)]
    charted = drop_none([*section_tables, naive, fixed_work, whole_nodes])
    sources = describe_other_sources(collected.papers)
    sentences = build_page_sentences(rows, passed_findings, charted, spread, link, sources)
    scoped_tables = drop_none([workloads_table, *section_tables, what_if, evidence])
    changes = (
        compare_rounds(earlier.collected, collected, earlier.label, spread) if earlier else None
    )
    node_scope = _build_node_scope(rows, scoped_tables, systems, link, sources)
    if node_scope:
        sections = [_add_node_rows(section, node_scope.cells) for section in sections]
    return PageModel(
        sections=_sort_sections(sections, [card.workload for card in sentences.cards]),
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


def _sort_sections(
    sections: Sequence[WorkloadSection], card_order: Sequence[str]
) -> list[WorkloadSection]:
    """Workloads with submitted results come first, in the order of the answer cards."""
    return sorted(sections, key=lambda s: (not s.submitted, card_order.index(s.workload.id)))


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
