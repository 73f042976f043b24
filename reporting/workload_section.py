"""The part of the page about one workload: its tables, demo runs and footnotes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reporting.collect import read_bundle
from reporting.report_table import ReportTable
from reporting.results_model import (
    ResultRow,
    sort_results,
)
from reporting.sections import best, compare, results, variants
from reporting.sections.cells import BundleLink
from reporting.sections.idle import build_idle_table
from reporting.sections.like_paper import PAPERS, build_like_table
from reporting.sections.nodes.partly_used import build_partly_used_table
from reporting.sections.nodes.power import build_node_gain_table, build_node_table
from reporting.sections.power_traces import build_trace_tables
from reporting.sections.repeats import ReportSpread
from reporting.sections.serving import build_serving_table
from reporting.sections.spread import build_epochs_table, build_repeats_table
from reporting.sections.sweeps.axes import build_axis_tables
from reporting.sections.sweeps.caps import build_peak_table, build_sweep_table, find_sweeps
from reporting.sections.sweeps.gains import build_settings_table
from reporting.sections.sweeps.same_boards import build_same_boards_table
from reporting.sections.sweeps.scaling import build_scaling_table, find_scaled_runs
from reporting.sections.token_energy import build_token_energy_table
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


def build_section(
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
