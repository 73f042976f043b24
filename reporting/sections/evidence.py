"""The table of the evidence behind each result."""

from collections.abc import Sequence

from reporting.quantities import quantities, quantity, read_cells
from reporting.report_table import Column, ReportTable
from reporting.results_model import ResultRow
from reporting.run_record import Provenance, RunRecord
from reporting.sections.cells import (
    BundleLink,
    Cells,
    add_facet_columns,
    count_findings,
)
from reporting.sections.section import Section
from rules import VERSION
from rules.finding import format_count


def build_evidence_table(rows: Sequence[ResultRow], link: BundleLink) -> ReportTable | None:
    """The evidence of each accepted bundle, with its findings folded into the last cell; None
    without bundles."""
    columns = add_facet_columns(
        *quantities("run", "system", "workload", "standing"),
        Column("signer", "signed by"),
        Column("reviewed", "reviews"),
        *quantities("accepted", "scope"),
        Column("n", "scored epochs", "", "count"),
        quantity("energy_of_record"),
        Column(
            "difference_percent",
            "trapezoid minus counter",
            "%",
            "signed",
            about="share of the counter",
        ),
        *quantities("protocol", "rules"),
        Column("judged_by", "checked by rule book"),
        Column(
            "slurm_job",
            "Slurm job",
            about="declared: job, cap of the site, and the energy that Slurm counted on the nodes "
            "of the step, beside that of the accelerators by wattmark",
        ),
        Column("findings", "findings", form="findings"),
        Column("bundle", "bundle", hidden=True),
    )
    cells = [
        read_cells(columns, row) | _make_evidence_cells(row, link) for row in rows if row.provenance
    ]
    # Most rounds have no runs under Slurm.
    if not any(row_cells["slurm_job"] for row_cells in cells):
        columns = tuple(column for column in columns if column.key != "slurm_job")
        cells = [{k: v for k, v in row_cells.items() if k != "slurm_job"} for row_cells in cells]
    return ReportTable("evidence", "Evidence", columns, tuple(cells)) if cells else None


def _make_evidence_cells(row: ResultRow, link: BundleLink) -> Cells:
    assert row.provenance is not None
    provenance, run = row.provenance, row.provenance.run
    return {
        "signer": provenance.signer or provenance.trust_level,
        "reviewed": _format_reviews(provenance),
        "n": run.headline.items_per_s_per_accelerator.n,
        "difference_percent": None
        if provenance.difference is None
        else provenance.difference * 100,
        "judged_by": VERSION,
        "slurm_job": describe_job(run),
        "findings": count_findings(provenance.findings),
        "bundle": link(run.path),
    }


def describe_job(run: RunRecord) -> str | None:
    """The Slurm job of a run, its cap by the site and its energy by Slurm; None outside Slurm."""
    job = run.declaration.slurm_job
    if job is None:
        return None
    parts = [f"job {job.id}"]
    if job.array_task is not None:
        parts.append(f"task {job.array_task}")
    if job.restarts:
        parts.append(format_count(job.restarts, "requeue"))
    texts = [", ".join(parts)]
    if job.site_cap is not None:
        texts.append(f"{job.site_cap.cap_w:g} W by the site ({job.site_cap.source})")
    if job.energy is not None:
        texts.append(
            f"{job.energy.consumed_j / 1e3:.4g} kJ by {job.energy.plugin}, accelerators "
            f"{run.activity.run_energy_j / 1e3:.4g} kJ"
        )
    return "; ".join(texts)


def _format_reviews(provenance: Provenance) -> str | None:
    reviews = [
        f"{verb} by {', '.join(principals)}"
        for verb, principals in (
            ("accepted", provenance.reviewers),
            ("rejected", provenance.rejecters),
        )
        if principals
    ]
    return "; ".join(reviews) or None


SECTION = Section(
    name="evidence",
    place=190,
    build=lambda page: [build_evidence_table(page.rows, page.link)],
    is_for_nodes=True,
)
