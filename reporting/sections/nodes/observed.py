"""Observed jobs: node power of jobs that wattmark did not run. They are compared with nothing."""

from collections.abc import Sequence

from reporting.observed_record import ObservedRecord
from reporting.report_table import Column, ReportTable, escape_invisible
from reporting.sections.cells import BundleLink, Cells, describe_evidence
from reporting.sections.section import Section

_ABOUT = (
    "Jobs that wattmark did not run: the power comes from the log of a node meter, the work and "
    "its window are as their owner declares them. They are compared with nothing and win nothing."
)
_COLUMNS = (
    Column("what", "job", about="what ran, as its owner declares it"),
    Column("system", "system"),
    Column("node", "nodes", about="nodes, and the accelerators of each"),
    Column("hours", "time", "h", "number"),
    Column("mean_w", "mean power", "W", "number", about="of all nodes together"),
    Column("max_60s_w", "highest mean of 60 s", "W", "number"),
    Column("rated_w", "rated power", "W", "count", about="of all nodes together, if declared"),
    Column("kwh", "energy", "kWh", "number"),
    Column("items", "items", "", "number", about="as declared"),
    Column("item", "item"),
    Column("joules_per_item", "energy of an item", "J", "number"),
    Column("items_source", "items stated in"),
    Column("window_source", "window stated in"),
    Column("source", "evidence", form="evidence"),
    Column("url", "address of the bundle", hidden=True),
    Column("standing", "standing", hidden=True),
)


def build_observed_table(records: Sequence[ObservedRecord], link: BundleLink) -> ReportTable | None:
    """The observed jobs; None if there are none."""
    if not records:
        return None
    rows = tuple(_make_cells(record, link) for record in records)
    return ReportTable("observed", "Observed jobs", _COLUMNS, rows, _ABOUT)


def _make_cells(record: ObservedRecord, link: BundleLink) -> Cells:
    declaration, figures = record.job.declaration, record.job.figures
    node, job = declaration.node, declaration.job
    board = escape_invisible(node.accelerator)
    items = job.items
    return {
        "what": escape_invisible(job.what),
        "system": escape_invisible(node.system),
        "node": f"{node.count} with {node.accelerators} \u00d7 {board}",
        "hours": figures.seconds / 3600,
        "mean_w": figures.mean_w,
        "max_60s_w": figures.max_60s_w,
        "rated_w": node.rated_w * node.count if node.rated_w else None,
        "kwh": figures.energy_j / 3.6e6,
        "items": items.count if items else None,
        "item": escape_invisible(items.name) if items else None,
        "joules_per_item": figures.joules_per_item,
        "items_source": escape_invisible(items.source) if items else None,
        "window_source": f"Slurm job {job.slurm_job}" if job.slurm_job else "declaration",
        "source": describe_evidence(record.signer, record.trust_level, record.findings),
        "url": link(record.path),
        "standing": declaration.standing,
    }


SECTION = Section(
    name="observed",
    place=135,
    build=lambda page: [build_observed_table(page.observed, page.link)],
)
