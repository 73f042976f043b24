"""The content of the page as tables: an overview, one section per workload, and one part per
system."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from reporting.collect import Collected
from reporting.report_table import ReportTable
from reporting.results_model import ResultRow, drop_shared_words, find_shared_words
from reporting.rounds.changes import RoundChanges
from reporting.rounds.compare import compare_rounds
from reporting.rounds.earlier import EarlierRound
from reporting.rounds.table import build_change_tables
from reporting.sections import build_page_tables, build_workload_tables, list_across
from reporting.sections.cells import BundleLink, Cells
from reporting.sections.control import add_control_shares
from reporting.sections.nodes.racks import NodeShare, list_node_shares
from reporting.sections.nodes.scope import find_node_cells, select_node_rows
from reporting.sections.overview import collect_facts, group_by_system
from reporting.sections.repeats import ReportSpread, measure_spread, state_intervals
from reporting.sections.section import PageInput
from reporting.sentences.checklist import Task, build_checklist
from reporting.sentences.coverage import describe_coverage
from reporting.sentences.other_sources import OtherSources, describe_other_sources
from reporting.sentences.page import PageSentences, build_page_sentences
from reporting.workload_section import WorkloadSection, build_section, split_rows
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
    """All tables of the page. Tables that would be empty are left out."""

    sections: Sequence[WorkloadSection]
    first_tables: Sequence[ReportTable]
    """Those before the sections of workloads."""
    later_tables: Sequence[ReportTable]
    node_shares: Sequence[NodeShare]
    systems: Sequence[SystemPart]
    spread: ReportSpread
    shared_words: str
    """What the names of all systems end with. Tables and charts leave it out."""
    sentences: PageSentences
    checklist: Sequence[Task]
    """What the rules leave to a reviewer."""
    node_scope: NodeScope | None
    """None without figures of nodes."""
    collected: Collected
    earlier: EarlierRound | None
    changes: RoundChanges | None
    """None without an earlier round."""

    def find(self, id: str) -> ReportTable | None:
        """The table of the whole page with that id; None if it would be empty."""
        tables = (*self.first_tables, *self.later_tables)
        return next((table for table in tables if table.id == id), None)

    @property
    def across(self) -> list[ReportTable]:
        """The tables across workloads, those with charts first."""
        return list_across([*self.first_tables, *self.later_tables])

    @property
    def runs(self) -> list[ResultRow]:
        """The runs of the bundles that passed."""
        return [row for row in self.collected.rows if row.provenance is not None]

    @property
    def coverage(self) -> str:
        """Which boards the runs measured, and what none of them shows."""
        return describe_coverage(self.runs)

    @property
    def has_demo(self) -> bool:
        """Whether a workload has demo runs."""
        return any(section.demo for section in self.sections)

    @property
    def tables(self) -> list[ReportTable]:
        """Every table, in the order of the page."""
        of_workloads = [table for s in self.sections for table in (*s.tables, *s.demo)]
        return [*self.first_tables, *of_workloads, *self.later_tables]


def build_page_model(
    collected: Collected, link: BundleLink, earlier: EarlierRound | None = None
) -> PageModel:
    """Build the tables of everything collected, and of what changed since an earlier round."""
    rows = add_control_shares(collected.rows)
    spread = measure_spread(rows)
    named_rows = state_intervals(rows, spread)
    shared_words = find_shared_words(named_rows)
    rows = drop_shared_words(named_rows, shared_words)
    passed_findings = collected.list_passed_findings()
    given = PageInput(
        *(rows, named_rows, link, spread, collected.papers, passed_findings, collected.rejected),
        foreign=collected.foreign,
        observed=collected.observed,
    )
    changes = (
        compare_rounds(earlier.collected, collected, earlier.label, spread) if earlier else None
    )
    first_tables = [
        *build_page_tables(given, comes_first=True),
        *(build_change_tables(changes, link) if changes else ()),
    ]
    later_tables = build_page_tables(given, comes_first=False)
    built = (
        build_section(*split_rows(workload, rows, link, spread))
        for workload in workloads().values()
    )
    sections = [section for section in built if section is not None]
    of_workloads = [table for section in sections for table in (*section.tables, *section.demo)]
    tables = [*first_tables, *of_workloads, *later_tables]
    sources = describe_other_sources(collected.papers)
    sentences = build_page_sentences(rows, passed_findings, tables, spread, link, sources)
    node_scope = _build_node_scope(given, tables, sources)
    if node_scope:
        sections = [_add_node_rows(section, node_scope.cells) for section in sections]
    return PageModel(
        sections=_sort_sections(sections, [card.workload for card in sentences.cards]),
        first_tables=first_tables,
        later_tables=later_tables,
        node_shares=list_node_shares(collected.papers),
        systems=_list_systems(named_rows, later_tables),
        spread=spread,
        shared_words=shared_words,
        sentences=sentences,
        checklist=build_checklist(named_rows, tables, link, bool(collected.local_label)),
        node_scope=node_scope,
        collected=collected,
        earlier=earlier,
        changes=changes,
    )


def _sort_sections(
    sections: Sequence[WorkloadSection], card_order: Sequence[str]
) -> list[WorkloadSection]:
    """Workloads with submitted results come first, in the order of the answer cards."""
    return sorted(sections, key=lambda s: (not s.submitted, card_order.index(s.workload.id)))


def _build_node_scope(
    given: PageInput, tables: Sequence[ReportTable], sources: OtherSources
) -> NodeScope | None:
    """The scope of whole nodes for the tables that have figures of them."""
    node_rows = select_node_rows(given.rows)
    if not node_rows:
        return None
    link, spread = given.link, measure_spread(node_rows)
    node_rows = state_intervals(node_rows, spread)
    given = replace(given, rows=node_rows, spread=spread)
    # Their titles are not shown.
    node_tables = [t for first in (True, False) for t in build_page_tables(given, first, True)]
    for workload in workloads().values():
        for part in split_rows(workload, node_rows, link, spread):
            node_tables += build_workload_tables(part, only_nodes=True)
    sentences = build_page_sentences(node_rows, (), node_tables, spread, link, sources)
    return NodeScope(find_node_cells(tables, node_tables), sentences, spread)


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


def _list_systems(
    named_rows: Sequence[ResultRow], tables: Sequence[ReportTable]
) -> list[SystemPart]:
    system_tables = [table for table in tables if table.id.startswith("system-")]
    return [
        SystemPart(name, collect_facts(rows), table)
        for (name, rows), table in zip(group_by_system(named_rows), system_tables, strict=True)
    ]
