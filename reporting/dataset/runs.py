"""The columns of `runs`: one row per run that passed, with its settings, its system, the trust in
its evidence, and how its accelerators behaved."""

from collections.abc import Callable, Iterable
from typing import Any

from reporting.dataset.columns import Column
from reporting.dataset.results import MARK_COLUMNS, SETTING_COLUMNS, ResultColumn, read_bundle_name
from reporting.results_model import ResultRow
from reporting.run_record import Provenance, RunRecord
from rules.contract import RequestSet
from rules.declarations.run import SlurmJob
from rules.metrics.power.profile import PowerSpread


def _get_provenance(row: ResultRow) -> Provenance:
    assert row.provenance is not None, "a published figure has no run"
    return row.provenance


def _get_run(row: ResultRow) -> RunRecord:
    return _get_provenance(row).run


def _get_requests(row: ResultRow) -> RequestSet | None:
    return _get_run(row).requests


def _join(values: Iterable[object]) -> str | None:
    """The values, each once; None without any."""
    return "; ".join(dict.fromkeys(map(str, values))) or None


_TRUST_COLUMNS: tuple[ResultColumn, ...] = (
    Column(
        "trust_level",
        "text",
        "",
        "how much evidence supports the result, such as submitted, reviewed or accepted",
        lambda row: _get_provenance(row).trust_level.value,
    ),
    Column("signer", "text", "", "who signed the bundle", lambda row: _get_provenance(row).signer),
    Column(
        "reviewers",
        "text",
        "",
        "who reviewed and accepted the bundle, separated by semicolons",
        lambda row: _join(_get_provenance(row).reviewers),
    ),
    Column(
        "rejecters",
        "text",
        "",
        "who reviewed and rejected the bundle",
        lambda row: _join(_get_provenance(row).rejecters),
    ),
    Column(
        "accepted_under",
        "text",
        "",
        "version of the rule book under which the LOG accepts the bundle; empty if it does not",
        lambda row: _get_provenance(row).accepted or None,
    ),
    Column(
        "reproducers",
        "text",
        "",
        "the centers that reproduced the run",
        lambda row: _join(_get_provenance(row).reproducers),
    ),
    Column(
        "reproduces",
        "text",
        "",
        "bundle of the run that this one reproduces; empty if it reproduces none",
        lambda row: _get_provenance(row).original,
    ),
    Column(
        "manifest_sha256",
        "text",
        "SHA-256",
        "hash of the manifest, which identifies the evidence",
        lambda row: _get_provenance(row).manifest_sha256,
    ),
)

_DECLARED_COLUMNS: tuple[ResultColumn, ...] = (
    Column("size", "text", "", "size of the workload", lambda row: _get_run(row).declaration.size),
    Column("protocol", "text", "", "version of the protocol", lambda row: _get_run(row).protocol),
    Column(
        "rules_version",
        "text",
        "",
        "version of the rule book at the time of the run",
        lambda row: _get_run(row).rules_version,
    ),
    Column(
        "started_at",
        "time",
        "",
        "start of the run, in UTC",
        lambda row: _get_run(row).declaration.started_at,
    ),
    Column(
        "ended_at",
        "time",
        "",
        "end of the run, in UTC",
        lambda row: _get_run(row).declaration.ended_at,
    ),
    Column(
        "implementation",
        "text",
        "",
        "name of the implementation",
        lambda row: _get_run(row).declaration.implementation.name,
    ),
    Column(
        "nodes",
        "integer",
        "",
        "number of nodes",
        lambda row: _get_run(row).declaration.settings.nodes,
    ),
    Column(
        "batches_per_epoch",
        "integer",
        "",
        "batches of a rank in an epoch",
        lambda row: _get_run(row).declaration.settings.batches_per_epoch,
    ),
    Column(
        "input",
        "text",
        "",
        "synthetic, or real if a corpus was read",
        lambda row: _get_run(row).declaration.settings.input,
    ),
    Column(
        "prompt_tokens",
        "integer",
        "tokens",
        "length of the prompts of serving",
        lambda row: (requests := _get_requests(row)) and requests.prompt_tokens,
    ),
    Column(
        "output_tokens",
        "integer",
        "tokens",
        "length of the answers of serving",
        lambda row: (requests := _get_requests(row)) and requests.output_tokens,
    ),
    Column(
        "concurrency",
        "integer",
        "",
        "requests in flight of serving",
        lambda row: (requests := _get_requests(row)) and requests.concurrency,
    ),
    Column(
        "request_rate_per_s",
        "number",
        "1/s",
        "mean arrival rate of the requests of serving; empty for a closed loop",
        lambda row: (requests := _get_requests(row)) and requests.rate_per_s,
    ),
    Column(
        "meter",
        "text",
        "",
        "how power was read",
        lambda row: _get_run(row).declaration.sampling.meter,
    ),
    Column(
        "energy_of_record",
        "text",
        "",
        "energy that the figures use: counter or trapezoid",
        lambda row: _get_run(row).energy_of_record,
    ),
)


def _read_job(row: ResultRow, read: Callable[[SlurmJob], Any]) -> Any:
    job = _get_run(row).declaration.slurm_job
    return None if job is None else read(job)


_JOB_COLUMNS: tuple[ResultColumn, ...] = (
    Column(
        "slurm_job_id",
        "text",
        "",
        "job of Slurm that the run was in; empty outside Slurm",
        lambda row: _read_job(row, lambda job: job.id),
    ),
    Column(
        "slurm_array_task",
        "integer",
        "",
        "number of the task in the array of jobs",
        lambda row: _read_job(row, lambda job: job.array_task),
    ),
    Column(
        "slurm_restarts",
        "integer",
        "",
        "how often Slurm had requeued the job",
        lambda row: _read_job(row, lambda job: job.restarts),
    ),
    Column(
        "site_cap_w",
        "number",
        "W",
        "cap of each accelerator that the site was to set for the job",
        lambda row: _read_job(row, lambda job: job.site_cap and job.site_cap.cap_w),
    ),
    Column(
        "slurm_energy_j",
        "number",
        "J",
        "energy that Slurm counted on the nodes of the step during the run, as declared; compare "
        "it with `run_energy_j`, which has the accelerators only",
        lambda row: _read_job(row, lambda job: job.energy and job.energy.consumed_j),
    ),
    Column(
        "slurm_energy_plugin",
        "text",
        "",
        "plugin of the site that determines what Slurm counts",
        lambda row: _read_job(row, lambda job: job.energy and job.energy.plugin),
    ),
)

_SYSTEM_COLUMNS: tuple[ResultColumn, ...] = (
    Column("site", "text", "", "site of the system", lambda row: _get_run(row).system.site),
    Column(
        "category",
        "text",
        "",
        "category of the system",
        lambda row: _get_run(row).system.category,
    ),
    Column(
        "cpu",
        "text",
        "",
        "processors of the nodes",
        lambda row: _join(_get_run(row).system_facts.cpus),
    ),
    Column(
        "interconnect",
        "text",
        "",
        "interconnect of the nodes",
        lambda row: _get_run(row).system.interconnect,
    ),
    Column("cooling", "text", "", "cooling", lambda row: _get_run(row).system.cooling),
    Column(
        "driver",
        "text",
        "",
        "version of the driver of the accelerators",
        lambda row: _get_run(row).environment.driver,
    ),
    Column("os", "text", "", "operating system", lambda row: _get_run(row).environment.os),
    Column(
        "kernel", "text", "", "version of the kernel", lambda row: _get_run(row).environment.kernel
    ),
    Column(
        "container",
        "text",
        "",
        "container image that the run declares",
        lambda row: _get_run(row).environment.container,
    ),
    Column(
        "accelerator_uuids",
        "text",
        "",
        "accelerators of the run, separated by semicolons",
        lambda row: _join(board.uuid for board in _get_run(row).accelerators),
    ),
)


def _read_spread(row: ResultRow, name: str) -> float | None:
    spread: PowerSpread | None = _get_run(row).spread
    return getattr(spread, name) if spread else None


def _make_spread_column(name: str, meaning: str) -> ResultColumn:
    return Column(
        f"reading_{name}",
        "number",
        "W",
        f"{meaning} of the power readings of single accelerators in scored epochs",
        lambda row: _read_spread(row, name),
    )


_BEHAVIOUR_COLUMNS: tuple[ResultColumn, ...] = (
    Column(
        "limits_read_back_w",
        "text",
        "W",
        "power limits that the boards reported, separated by semicolons",
        lambda row: _join(f"{limit_w:g}" for limit_w in row.limits_w),
    ),
    Column(
        "mean_sm_clock_mhz",
        "number",
        "MHz",
        "mean SM clock in scored epochs",
        lambda row: (clock := _get_run(row).clocks.sm_mhz) and clock.mean,
    ),
    Column(
        "mean_memory_clock_mhz",
        "number",
        "MHz",
        "mean memory clock in scored epochs",
        lambda row: (clock := _get_run(row).clocks.mem_mhz) and clock.mean,
    ),
    _make_spread_column("min_w", "minimum"),
    _make_spread_column("p5_w", "5th percentile"),
    _make_spread_column("median_w", "median"),
    _make_spread_column("p95_w", "95th percentile"),
    _make_spread_column("max_w", "maximum"),
    Column(
        "max_60s_power_w",
        "number",
        "W",
        "largest mean over 60 s of the power of all accelerators together",
        lambda row: _get_run(row).activity.max_60s_power_w,
    ),
    Column(
        "active_percent",
        "number",
        "%",
        "time in which batches were active over the time of the scored epochs",
        lambda row: 100 * _get_run(row).activity.active_share,
    ),
    Column(
        "utilisation_percent",
        "number",
        "%",
        "utilisation as the boards state it",
        lambda row: _get_run(row).activity.utilisation_percent,
    ),
    Column(
        "run_s",
        "number",
        "s",
        "time of the whole run, start-up and discarded epochs included",
        lambda row: _get_run(row).activity.run_s,
    ),
    Column(
        "run_energy_j",
        "number",
        "J",
        "energy of all accelerators over the whole run",
        lambda row: _get_run(row).activity.run_energy_j,
    ),
    Column(
        "idle_bare_w",
        "number",
        "W",
        "mean idle power of an accelerator without a model",
        lambda row: (idle := _get_run(row).idle) and idle.bare_w,
    ),
    Column(
        "idle_resident_w",
        "number",
        "W",
        "mean idle power of an accelerator with the model resident and no batch",
        lambda row: (idle := _get_run(row).idle) and idle.resident_w,
    ),
)

RUN_COLUMNS: tuple[ResultColumn, ...] = (
    Column("bundle", "text", "", "center, system and run", read_bundle_name),
    Column("run_id", "text", "", "id of the run", lambda row: _get_run(row).run_id),
    *MARK_COLUMNS,
    *_TRUST_COLUMNS,
    *SETTING_COLUMNS,
    *_DECLARED_COLUMNS,
    *_JOB_COLUMNS,
    *_SYSTEM_COLUMNS,
    *_BEHAVIOUR_COLUMNS,
)
"""The columns of `runs`. Figures with intervals are in `figures`."""
