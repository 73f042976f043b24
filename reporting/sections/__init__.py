"""The tables of the page. Every file that builds one ends in its `Section`, which is found by
discovery."""

import importlib
import pkgutil
from collections.abc import Iterable, Sequence
from functools import cache

from reporting.report_table import ReportTable
from reporting.sections.section import PageInput, Section, WorkloadInput


@cache
def list_sections() -> Sequence[Section]:
    """Every section of every file, by place."""
    modules = (
        importlib.import_module(info.name)
        for info in pkgutil.walk_packages(__path__, f"{__name__}.")
    )
    sections = [value for m in modules for value in vars(m).values() if isinstance(value, Section)]
    return tuple(sorted(sections, key=lambda section: section.place))


@cache
def _index_by_name() -> dict[str, Section]:
    return {name: s for s in list_sections() for name in (s.name, *s.other_names)}


def find_section(table: ReportTable) -> Section | None:
    """The section of a table; None for a table of another page that has none."""
    whole, *ends = _list_ends(table.id.rstrip("0123456789-"))
    sections = _index_by_name()
    if whole in sections:
        return sections[whole]
    named_sections = (sections[end] for end in ends if end in sections)
    return next((section for section in named_sections if section.build is None), None)


def _list_ends(id: str) -> list[str]:
    words = id.split("-")
    return ["-".join(words[place:]) for place in range(len(words))]


def list_across(tables: Iterable[ReportTable]) -> list[ReportTable]:
    """The tables that the page lists across workloads, those with charts first."""
    pairs = [(table, section) for table in tables if (section := find_section(table))]
    across = [(table, section) for table, section in pairs if section.is_across and table.rows]
    return [table for table, _ in sorted(across, key=lambda pair: not pair[1].drawn_by)]


def build_page_tables(
    given: PageInput, comes_first: bool, only_nodes: bool = False
) -> list[ReportTable]:
    """The tables of the whole page that stand before those of workloads, or after them; with
    `only_nodes`, those that have figures of whole nodes."""
    sections = _list_for_nodes() if only_nodes else list_sections()
    return [
        table
        for section in sections
        if section.build and section.comes_first == comes_first
        for table in section.build(given)
        if table is not None
    ]


def build_workload_tables(given: WorkloadInput, only_nodes: bool = False) -> list[ReportTable]:
    """The tables of the compared results or of the demo runs of a workload; with `only_nodes`,
    those that have figures of whole nodes."""
    if not given.runs and (given.is_demo or not given.published):
        return []
    sections = _list_for_nodes() if only_nodes else list_sections()
    if given.is_demo:
        shown = [(s.demo_place, s) for s in sections if s.demo_place is not None]
        sections = [section for _, section in sorted(shown, key=lambda pair: pair[0])]
    return [
        table
        for section in sections
        if section.build_of_workload
        for table in section.build_of_workload(given)
        if table is not None
    ]


_NODE_ORDER = (
    *("workloads", "evidence", "what-if", "system", "results", "serving", "tokens", "epochs"),
    *("repeats", "scaling", "batch", "sweeps", "settings"),
)
"""The order of the tables in the data of the page. Others follow."""


def _list_for_nodes() -> Sequence[Section]:
    places = {name: place for place, name in enumerate(_NODE_ORDER)}
    sections = [section for section in list_sections() if section.is_for_nodes]
    return sorted(sections, key=lambda section: places.get(section.name, len(places)))
