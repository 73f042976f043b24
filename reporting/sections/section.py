"""A table of the page, and what its builder gets.

Each file of this folder that builds a table ends in its `Section`. The page finds it there.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from checker.verdict import Verdict
from reporting.foreign.evidence import Foreign
from reporting.observed_record import ObservedRecord
from reporting.paper import Paper
from reporting.report_table import ReportTable
from reporting.results_model import ResultRow
from reporting.sections.cells import BundleLink
from reporting.sections.repeats import ReportSpread
from reporting.sections.shown_columns import ShownColumns
from rules.bundle import Bundle
from rules.finding import Finding
from rules.workloads import Workload

Tables = Iterable[ReportTable | None]
"""None stands for a table that would be empty."""


@dataclass(frozen=True)
class PageInput:
    """What a table of the whole page is built from."""

    rows: Sequence[ResultRow]
    """Runs and published figures; in the scope of whole nodes, the runs with figures of nodes."""
    named_rows: Sequence[ResultRow]
    """The rows of accelerators, with the whole names of their systems."""
    link: BundleLink
    spread: ReportSpread
    papers: Sequence[Paper] = ()
    passed_findings: Sequence[Sequence[Finding]] = ()
    """The findings of each passed bundle, of runs and of studies."""
    rejected: Sequence[Verdict] = ()
    foreign: Foreign | None = None
    """The audited evidence of other programs; None if none was asked for."""
    observed: Sequence[ObservedRecord] = ()
    """The jobs that wattmark did not run."""


@dataclass(frozen=True)
class WorkloadInput:
    """What a table of one workload is built from: its compared results or its demo runs."""

    workload: Workload
    runs: Sequence[ResultRow]
    published: Sequence[ResultRow]
    link: BundleLink
    spread: ReportSpread | None
    """None for demo runs: nothing compares them."""
    read_bundle: Callable[[Path, str], Bundle]
    """Reads the bundle at a path whose manifest has a digest."""

    @property
    def is_demo(self) -> bool:
        return self.spread is None

    @property
    def id(self) -> str:
        """What the ids of the tables start with."""
        return f"{self.workload.id}{'-demo' if self.is_demo else ''}"

    @property
    def prefix(self) -> str:
        return "demo, " if self.is_demo else ""

    @property
    def not_compared(self) -> str:
        """The end of the titles of tables that compare other runs than demo runs."""
        return ", not compared" if self.is_demo else ""

    def describe_runs(
        self, name: str, words: str
    ) -> tuple[Workload, Sequence[ResultRow], BundleLink, str, str]:
        """The workload, its runs, the link, and id and title of a table."""
        title = self.make_title(words)
        return self.workload, self.runs, self.link, f"{self.id}-{name}", title

    def make_title(self, words: str) -> str:
        return f"{self.workload.title}: {self.prefix}{words}"


@dataclass(frozen=True)
class Section:
    """A table, or several of one kind, and what the report knows of it."""

    name: str
    """The id of the table; of a table of a workload, its end. A number may follow it."""
    place: int
    """Tables of the whole page stand in this order, and so do those of a workload."""
    build: Callable[[PageInput], Tables] | None = None
    """Builds a table of the whole page."""
    build_of_workload: Callable[[WorkloadInput], Tables] | None = None
    """Builds a table of a workload. A section without a builder is of another page."""
    other_names: tuple[str, ...] = ()
    comes_first: bool = False
    """Whether it stands before the tables of workloads."""
    is_across: bool = False
    """Whether the page lists it across workloads. The template places each other table of the whole
    page."""
    demo_place: int | None = None
    """The place among the tables of demo runs; None if these have no such table."""
    is_for_nodes: bool = False
    """Whether it has figures of whole nodes in the scope of these."""
    drawn_by: tuple[str, ...] = ()
    """The functions of `reporting.charts` that draw its charts. They are loaded by name, because
    they need the extra `report`."""
    charts: Mapping[str, ShownColumns] | Callable[[ReportTable], Mapping[str, ShownColumns]] = (
        field(default_factory=dict)
    )
    """What the charts show, by the end of their ids."""
    folds_charts: bool = False
    """Whether the page folds the charts with the table."""
    paper_keys: tuple[str, ...] = ()
    """The columns that a paper shows, most important first; empty for the visible columns in their
    order."""

    def list_charts(self, table: ReportTable) -> dict[str, ShownColumns]:
        """What each chart of a table shows, by the id of the chart."""
        charts = self.charts(table) if callable(self.charts) else self.charts
        return {name_chart(table, name): columns for name, columns in charts.items()}


def name_chart(table: ReportTable, name: str) -> str:
    """The id of a chart."""
    # The small hill is named after the workload, at the top of the page.
    return f"{table.id.removesuffix('-results') if name == 'hill-small' else table.id}-{name}"
