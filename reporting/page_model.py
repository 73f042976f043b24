"""What the page shows, as tables: one section per workload, what stands over all of them, and one
part per system."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reporting.collect import Collected, read_bundle
from reporting.report_table import Table
from reporting.results_model import Row, in_order
from reporting.sections import compare, overview, planning, results
from reporting.sections.results import Link
from reporting.sections.scaling import scaling, scaling_table
from reporting.sections.sweeps import peak_table, sweep_table, sweeps
from reporting.sections.traces import trace
from rules.workloads import Workload, workloads


@dataclass(frozen=True)
class Section:
    """One workload of the page: tables of what is compared, and of demo runs, which are not."""

    workload: Workload
    tables: Sequence[Table]
    demo: Sequence[Table]
    submitted: int
    cautions: Sequence[str]
    """Footnotes, each once, in the order of the rows."""
    simulated: bool
    """Whether work of a demo was simulated."""


@dataclass(frozen=True)
class System:
    """One system: what is stated of it, and its runs."""

    name: str
    facts: Sequence[tuple[str, str]]
    table: Table


@dataclass(frozen=True)
class Content:
    """All of the page. A table is None where it would be empty."""

    sections: Sequence[Section]
    workloads: Table
    systems_table: Table | None
    findings: Table | None
    what_if: Table | None
    rack: Table
    systems: Sequence[System]
    evidence: Table | None
    collected: Collected

    @property
    def tables(self) -> list[Table]:
        """Every table, in the order of the page."""
        over = (self.workloads, self.systems_table, self.findings)
        of_sections = [
            table for section in self.sections for table in (*section.tables, *section.demo)
        ]
        rest = (self.what_if, self.rack, *(system.table for system in self.systems), self.evidence)
        return [table for table in (*over, *of_sections, *rest) if table is not None]


def content(collected: Collected, link: Link) -> Content:
    """The tables of everything collected."""
    rows = collected.rows
    sections = [s for w in workloads().values() if (s := _section(w, rows, link)) is not None]
    own = overview.by_system(rows)
    return Content(
        sections=sorted(sections, key=lambda s: not s.submitted),
        workloads=overview.workloads_table(rows),
        systems_table=overview.systems_table(rows) if own else None,
        findings=overview.findings_table(rows, collected.rejected),
        what_if=planning.what_if_table(rows, link),
        rack=planning.rack_table(rows, link),
        systems=[
            System(
                name,
                overview.facts(of),
                overview.system_table(in_order(of), f"system-{place}", f"Runs on {name}", link),
            )
            for place, (name, of) in enumerate(own, start=1)
        ],
        evidence=overview.evidence_table(rows, link),
        collected=collected,
    )


def _section(workload: Workload, rows: Sequence[Row], link: Link) -> Section | None:
    own = [r for r in rows if r.workload == workload.id]
    if not own:
        return None
    submitted = in_order([r for r in own if r.standing in ("closed", "open")])
    published = sorted(
        (r for r in own if r.standing == "published"),
        key=lambda r: (r.system, r.accelerator, r.cap_w or 0),
    )
    demo = in_order([r for r in own if r.standing == "demo"])
    return Section(
        workload=workload,
        tables=list(_tables(workload, submitted, published, link)),
        demo=list(_demo(workload, demo, link)),
        submitted=len(submitted),
        cautions=list(dict.fromkeys(r.caution for r in published if r.caution)),
        simulated=any(
            r.trail and r.trail.run.result["implementation"]["settings"].get("simulated")
            for r in demo
        ),
    )


def _tables(
    workload: Workload, submitted: Sequence[Row], published: Sequence[Row], link: Link
) -> Iterator[Table]:
    compared = (*submitted, *published)
    if not compared:
        return
    yield results.results_table(
        workload, compared, link, f"{workload.id}-results", f"{workload.title}: results"
    )
    found = (
        compare.best_table(workload, compared, link, f"{workload.id}-best"),
        compare.compare_table(workload, compared, link, f"{workload.id}-compare"),
        compare.tuned_table(workload, submitted, link, f"{workload.id}-tuned"),
        results.serving_table(workload, submitted, link, f"{workload.id}-serving"),
    )
    yield from (table for table in found if table is not None)
    yield from _of_runs(workload, submitted, link, workload.id, "")


def _demo(workload: Workload, demo: Sequence[Row], link: Link) -> Iterator[Table]:
    if not demo:
        return
    id = f"{workload.id}-demo"
    yield from _of_runs(workload, demo, link, id, "demo, ")
    yield results.results_table(
        workload, demo, link, f"{id}-results", f"{workload.title}: demo runs, not compared"
    )


def _of_runs(
    workload: Workload, rows: Sequence[Row], link: Link, id: str, kind: str
) -> Iterator[Table]:
    """The tables of sweeps, of scaling, and of clocks and power."""
    not_compared = ", not compared" if kind else ""
    if swept := sweeps(rows):
        yield sweep_table(
            workload,
            swept,
            link,
            f"{id}-sweeps",
            f"{workload.title}: {kind}power-cap sweep{not_compared}",
        )
        yield peak_table(
            workload, swept, f"{id}-peaks", f"{workload.title}: {kind}efficiency peaks"
        )
    if several := scaling(rows):
        title = f"{workload.title}: {kind}scaling over accelerators{not_compared}"
        yield scaling_table(workload, several, link, f"{id}-scaling", title)
    if rows:
        yield results.power_table(
            workload, rows, link, f"{id}-power", f"{workload.title}: {kind}clocks and power"
        )
    for place, row in enumerate(_traced(rows), start=1):
        if row.trail:
            yield trace(read_bundle(row.trail.run.path), f"{id}-trace-{place}")


def _traced(rows: Sequence[Row]) -> list[Row]:
    """The runs whose power is shown over time: the fastest, and the most efficient where it is
    another."""
    counted = [row for row in rows if row.comparable and row.trail]
    if not counted:
        return []
    fastest = max(counted, key=lambda row: row.items_per_s_per_accelerator.value)
    efficient = max(
        counted, key=lambda row: row.items_per_joule.value if row.items_per_joule else 0.0
    )
    return [fastest] if fastest is efficient else [fastest, efficient]
