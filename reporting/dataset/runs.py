"""The columns of `runs`: one row per run that passed, with its settings, its system, the trust in
its evidence, and how its accelerators behaved."""

from collections.abc import Callable, Iterable
from typing import Any

from reporting.dataset.results import MARK_COLUMNS, SETTING_COLUMNS, read_bundle_name
from reporting.quantities import Quantity, quantity
from reporting.report_table import Column
from reporting.results_model import ResultRow
from reporting.run_record import Provenance
from rules.declarations.run import SlurmJob


def _get_provenance(row: ResultRow) -> Provenance:
    assert row.provenance is not None, "a published figure has no run"
    return row.provenance


def _join(values: Iterable[object]) -> str | None:
    """The values, each once; None without any."""
    return "; ".join(dict.fromkeys(map(str, values))) or None


_TRUST_COLUMNS: tuple[Quantity, ...] = (
    Column(
        "trust_level",
        about="how much evidence supports the result, such as submitted, reviewed or accepted",
        read=lambda row: _get_provenance(row).trust_level.value,
    ),
    Column("signer", about="who signed the bundle", read=lambda row: _get_provenance(row).signer),
    Column(
        "reviewers",
        about="who reviewed and accepted the bundle, separated by semicolons",
        read=lambda row: _join(_get_provenance(row).reviewers),
    ),
    Column(
        "rejecters",
        about="who reviewed and rejected the bundle",
        read=lambda row: _join(_get_provenance(row).rejecters),
    ),
    quantity("accepted", key="accepted_under"),
    Column(
        "reproducers",
        about="the centers that reproduced the run",
        read=lambda row: _join(_get_provenance(row).reproducers),
    ),
    Column(
        "reproduces",
        about="bundle of the run that this one reproduces; empty if it reproduces none",
        read=lambda row: _get_provenance(row).original,
    ),
    Column(
        "manifest_sha256",
        unit="SHA-256",
        about="hash of the manifest, which identifies the evidence",
        read=lambda row: _get_provenance(row).manifest_sha256,
    ),
)

_DECLARED_COLUMNS: tuple[Quantity, ...] = (
    Column("size", about="size of the workload", read=lambda row: row.run.declaration.size),
    quantity("protocol"),
    quantity("rules", key="rules_version"),
    Column(
        "started_at",
        form="date",
        about="start of the run, in UTC",
        read=lambda row: row.run.declaration.started_at,
    ),
    Column(
        "ended_at",
        form="date",
        about="end of the run, in UTC",
        read=lambda row: row.run.declaration.ended_at,
    ),
    Column(
        "implementation",
        about="name of the implementation",
        read=lambda row: row.run.declaration.implementation.name,
    ),
    Column(
        "nodes",
        form="count",
        about="number of nodes",
        read=lambda row: row.run.declaration.settings.nodes,
    ),
    Column(
        "batches_per_epoch",
        form="count",
        about="batches of a rank in an epoch",
        read=lambda row: row.run.declaration.settings.batches_per_epoch,
    ),
    Column(
        "input",
        about="synthetic, or real if a corpus was read",
        read=lambda row: row.run.declaration.settings.input,
    ),
    quantity("prompt_tokens"),
    quantity("output_tokens"),
    quantity("concurrency"),
    Column(
        "request_rate_per_s",
        unit="1/s",
        form="number",
        about="mean arrival rate of the requests of serving; empty for a closed loop",
        read=lambda row: (requests := row.run.requests) and requests.rate_per_s,
    ),
    Column(
        "meter", about="how power was read", read=lambda row: row.run.declaration.sampling.meter
    ),
    quantity("energy_of_record"),
)


def _read_job(row: ResultRow, read: Callable[[SlurmJob], Any]) -> Any:
    job = row.run.declaration.slurm_job
    return None if job is None else read(job)


_JOB_COLUMNS: tuple[Quantity, ...] = (
    Column(
        "slurm_job_id",
        about="job of Slurm that the run was in; empty outside Slurm",
        read=lambda row: _read_job(row, lambda job: job.id),
    ),
    Column(
        "slurm_array_task",
        form="count",
        about="number of the task in the array of jobs",
        read=lambda row: _read_job(row, lambda job: job.array_task),
    ),
    Column(
        "slurm_restarts",
        form="count",
        about="how often Slurm had requeued the job",
        read=lambda row: _read_job(row, lambda job: job.restarts),
    ),
    Column(
        "site_cap_w",
        unit="W",
        form="number",
        about="cap of each accelerator that the site was to set for the job",
        read=lambda row: _read_job(row, lambda job: job.site_cap and job.site_cap.cap_w),
    ),
    Column(
        "slurm_energy_j",
        unit="J",
        form="number",
        about="energy that Slurm counted on the nodes of the step during the run, as declared; "
        "compare it with `run_energy_j`, which has the accelerators only",
        read=lambda row: _read_job(row, lambda job: job.energy and job.energy.consumed_j),
    ),
    Column(
        "slurm_energy_plugin",
        about="plugin of the site that determines what Slurm counts",
        read=lambda row: _read_job(row, lambda job: job.energy and job.energy.plugin),
    ),
)

_SYSTEM_COLUMNS: tuple[Quantity, ...] = (
    Column("site", about="site of the system", read=lambda row: row.run.system.site),
    Column("category", about="category of the system", read=lambda row: row.run.system.category),
    Column(
        "cpu", about="processors of the nodes", read=lambda row: _join(row.run.system_facts.cpus)
    ),
    Column(
        "interconnect",
        about="interconnect of the nodes",
        read=lambda row: row.run.system.interconnect,
    ),
    Column("cooling", about="cooling", read=lambda row: row.run.system.cooling),
    Column(
        "driver",
        about="version of the driver of the accelerators",
        read=lambda row: row.run.environment.driver,
    ),
    Column("os", about="operating system", read=lambda row: row.run.environment.os),
    Column("kernel", about="version of the kernel", read=lambda row: row.run.environment.kernel),
    Column(
        "container",
        about="container image that the run declares",
        read=lambda row: row.run.environment.container,
    ),
    Column(
        "accelerator_uuids",
        about="accelerators of the run, separated by semicolons",
        read=lambda row: _join(board.uuid for board in row.run.accelerators),
    ),
)


_BEHAVIOUR_COLUMNS: tuple[Quantity, ...] = (
    quantity(
        "in_force_w",
        key="limits_read_back_w",
        read=lambda row: _join(f"{limit_w:g}" for limit_w in row.limits_w),
    ),
    quantity("sm_mhz", key="mean_sm_clock_mhz", interval=False),
    quantity("mem_mhz", key="mean_memory_clock_mhz", interval=False),
    *(
        quantity(f"{name}_w", key=f"reading_{name}_w")
        for name in ("min", "p5", "median", "p95", "max")
    ),
    quantity("max_60s_w", key="max_60s_power_w", unit="W"),
    quantity("active_percent"),
    quantity("utilisation_percent"),
    quantity("run_s", form="number"),
    quantity("run_energy_j", unit="J"),
    quantity("bare_w", key="idle_bare_w", unit="W"),
    quantity("resident_w", key="idle_resident_w", unit="W"),
)

RUN_COLUMNS: tuple[Quantity, ...] = (
    Column("bundle", about="center, system and run", read=read_bundle_name),
    quantity("run", key="run_id"),
    *MARK_COLUMNS,
    *_TRUST_COLUMNS,
    *SETTING_COLUMNS,
    *_DECLARED_COLUMNS,
    *_JOB_COLUMNS,
    *_SYSTEM_COLUMNS,
    *_BEHAVIOUR_COLUMNS,
)
"""The columns of `runs`. Figures with intervals are in `figures`."""
