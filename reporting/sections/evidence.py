"""The table of the evidence behind each result."""

from collections.abc import Sequence

from reporting.report_table import Column, ReportTable
from reporting.results_model import ResultRow
from reporting.run_record import Provenance, RunRecord
from reporting.sections.cells import (
    BundleLink,
    Cells,
    add_facet_columns,
    count_findings,
    make_facet_cells,
    name_scope,
)
from reporting.sections.section import Section
from rules import VERSION
from rules.finding import format_count


def build_evidence_table(rows: Sequence[ResultRow], link: BundleLink) -> ReportTable | None:
    """The evidence of each accepted bundle, with its findings folded into the last cell; None
    without bundles."""
    columns = add_facet_columns(
        Column("run", "run"),
        Column("system", "system"),
        Column("workload", "workload"),
        Column("standing", "standing"),
        Column("signer", "signed by"),
        Column("reviewed", "reviews"),
        Column("accepted", "accepted under rule book"),
        Column("scope", "scope"),
        Column("n", "scored epochs", "", "count"),
        Column("energy_of_record", "energy of record"),
        Column(
            "difference_percent",
            "trapezoid minus counter",
            "%",
            "signed",
            about="share of the counter",
        ),
        Column("protocol", "protocol"),
        Column("rules", "rule book of the run"),
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
    cells = [_make_evidence_cells(row, link) for row in rows if row.provenance]
    # Most rounds have no runs under Slurm.
    if not any(row_cells["slurm_job"] for row_cells in cells):
        columns = tuple(column for column in columns if column.key != "slurm_job")
        cells = [{k: v for k, v in row_cells.items() if k != "slurm_job"} for row_cells in cells]
    return ReportTable("evidence", "Evidence", columns, tuple(cells)) if cells else None


def _make_evidence_cells(row: ResultRow, link: BundleLink) -> Cells:
    assert row.provenance is not None
    provenance, run = row.provenance, row.provenance.run
    return {
        **make_facet_cells(row),
        "run": run.run_id,
        "system": row.system,
        "workload": row.workload,
        "signer": provenance.signer or provenance.trust_level,
        "reviewed": _format_reviews(provenance),
        "accepted": provenance.accepted or None,
        "scope": name_scope(row),
        "n": run.headline.items_per_s_per_accelerator.n,
        # The reader sees whether counter or trapezoid gave the energy, and how far apart they are.
        "energy_of_record": run.energy_of_record,
        "difference_percent": None
        if provenance.difference is None
        else provenance.difference * 100,
        "protocol": run.protocol,
        "rules": run.rules_version,
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
