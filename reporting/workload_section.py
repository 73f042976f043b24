"""The part of the page about one workload: its tables, demo runs and footnotes."""

from collections.abc import Sequence
from dataclasses import dataclass

from reporting.collect import read_bundle
from reporting.report_table import ReportTable
from reporting.results_model import ResultRow, sort_results
from reporting.sections import build_workload_tables
from reporting.sections.cells import BundleLink
from reporting.sections.repeats import ReportSpread
from reporting.sections.section import WorkloadInput
from rules.workloads import Workload


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


def split_rows(
    workload: Workload, rows: Sequence[ResultRow], link: BundleLink, spread: ReportSpread
) -> tuple[WorkloadInput, WorkloadInput]:
    """What the tables of a workload are built from: compared results, and demo runs."""
    rows = [row for row in rows if row.workload == workload.id]
    submitted = sort_results([row for row in rows if row.standing in ("closed", "open")])
    published = sorted(
        (row for row in rows if row.standing == "published"),
        # By paper and board, because published results are not ranked.
        key=lambda row: (row.system, row.accelerator, row.cap_w or 0),
    )
    demo = sort_results([row for row in rows if row.standing == "demo"])
    return (
        WorkloadInput(workload, submitted, published, link, spread, read_bundle),
        WorkloadInput(workload, demo, published, link, None, read_bundle),
    )


def build_section(compared: WorkloadInput, demo: WorkloadInput) -> WorkloadSection | None:
    """The part of a workload; None without results."""
    workload, published = compared.workload, compared.published
    # Control runs have a table of their own, which compares nothing.
    if workload.is_control or not (compared.runs or published or demo.runs):
        return None
    return WorkloadSection(
        workload=workload,
        tables=build_workload_tables(compared),
        demo=build_workload_tables(demo),
        submitted=len(compared.runs),
        # Several rows of a paper share a caution. The footnote is printed once.
        cautions=list(dict.fromkeys(row.caution for row in published if row.caution)),
        simulated=any(
            row.provenance is not None and row.provenance.run.is_simulated for row in demo.runs
        ),
    )
