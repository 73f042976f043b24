"""Makes the plan of a run from the request and the machine."""

import importlib.util
import math
import os
import secrets
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness.errors import PlanError
from harness.host_load import choose_program
from harness.power.meter_access import find_access_file
from harness.power.sources import source_class
from harness.run.export import parse_target
from harness.run.plan import (
    SIMULATED_WORK,
    Configuration,
    Machine,
    Original,
    Plan,
    RunRequest,
)
from harness.run.settings import hash_named_file
from harness.simulation import work as simulated_work
from harness.slurm.job import SlurmJob, SlurmJobError, read_job
from rules.bundle_format.records import Json
from rules.contract import RequestSet
from rules.input_hash import hash_file
from rules.protocol import CURRENT, PROTOCOLS
from rules.settings import OPTIONAL_SETTINGS
from rules.suggestions import suggest
from rules.workloads import Workload, workloads

FULL_EPOCH_S = 31.5
"""Longer than the protocol requires, because an epoch does not last exactly as long as
calibrated."""
SMOKE_EPOCH_S = 1.5


def find_workload(run_request: RunRequest) -> Workload:
    """Return the requested workload. Raises PlanError if there is no such workload, or if it has no
    implementation, variant or size as requested."""
    available = workloads()
    name = run_request.workload
    if name not in available:
        raise PlanError(
            f"there is no workload {name!r}; there are {', '.join(available)}"
            f"{_suggest_workload(name)}"
        )
    workload = available[name]
    if workload.implementation is None and run_request.implementation is None:
        raise PlanError(
            f"{name} is defined, but has no reference implementation yet; name your own "
            "with --implementation"
        )
    if run_request.variant not in workload.variants:
        raise PlanError(
            f"{name} has no variant {run_request.variant!r}; it has "
            f"{', '.join(workload.variants)}{suggest(run_request.variant, workload.variants)}"
        )
    if run_request.size == "smoke" and workload.smoke is None:
        raise PlanError(f"{name} has no smoke size; leave out --smoke")
    return workload


def _suggest_workload(name: str) -> str:
    """`suggest` by the ids of the workloads, and else by their titles: `stable-diffusion`."""
    words = name.lower().replace("-", " ").replace("_", " ")
    titled = [w.id for w in workloads().values() if name and words in w.title.lower()]
    return suggest(name, workloads()) or (f"; did you mean {', '.join(titled)}?" if titled else "")


def make_plan(run_request: RunRequest, machine: Machine, system: Json, source_sha256: str) -> Plan:
    """Plan the requested run on this machine.

    The workload determines the batch size, and its size the length of an epoch, unless the request
    names them. `system` is the submitter's description of the system.

    Raises PlanError, which names the option, the value and what to do, and MeterError if the source
    of the meter cannot be loaded.
    """
    workload = find_workload(run_request)
    batch_size = _parse_batch(run_request.batch) or get_default_batch_size(
        workload, run_request.size, run_request.variant, len(machine.devices)
    )
    implementation, sha256 = check_options(run_request, workload)
    configuration = Configuration(
        workload=workload.id,
        variant=run_request.variant,
        size=run_request.size,
        implementation=implementation,
        implementation_sha256=sha256,
        batch_size=batch_size,
        seed=run_request.seed,
        epoch_s=run_request.epoch_s or _get_default_epoch_s(run_request.size),
        requests=_make_request_set(run_request, workload, batch_size),
        corpus=_resolve_path("--corpus", run_request.corpus),
        weights=_resolve_path("--weights", run_request.weights),
        options=_parse_options(run_request.options),
        host_load=choose_program() if run_request.host_load else None,
        **copy_optional(run_request),
    )
    plan = Plan(
        run_id=_make_run_id(run_request, machine),
        configuration=configuration,
        machine=machine,
        standing="demo",
        epochs=CURRENT.epochs,
        processes=1 if workload.mode == "inference" else len(machine.devices),
        source_sha256=source_sha256,
        system=system,
        batch_search=() if run_request.batch == "auto" else None,
        nodes=run_request.nodes,
        node=run_request.node,
        head=run_request.head,
        meters_file=str(find_access_file(run_request.meters)) if system.get("meters") else None,
        sweep=run_request.sweep,
        reproduces=run_request.original.reference if run_request.original else None,
        export=run_request.export and str(parse_target(run_request.export)),
        is_verbose=run_request.is_verbose,
        job=describe_job(),
    )
    plan = replace(plan, standing=find_standing(plan, workload))
    if run_request.original is not None:
        _check_reproduction(plan, run_request.original)
    return plan


def copy_optional(run_request: RunRequest) -> dict[str, Any]:
    """Return the fields of a configuration that are those of the request, as they are."""
    return {setting.key: getattr(run_request, setting.key) for setting in OPTIONAL_SETTINGS}


def _get_default_epoch_s(size: str) -> float:
    return SMOKE_EPOCH_S if size == "smoke" else FULL_EPOCH_S


def describe_job() -> SlurmJob | None:
    """Return the Slurm job that this process is part of, None outside Slurm. Raises PlanError."""
    try:
        return read_job(os.environ)
    except SlurmJobError as error:
        raise PlanError(str(error)) from None


def _check_reproduction(plan: Plan, original: Original) -> None:
    """Raise PlanError if the planned run would not have the configuration of the original."""
    run, board_names = original.run, {device.name for device in plan.devices}
    if board_names != original.board_names:
        raise PlanError(
            f"{original.reference.path} ran on {', '.join(sorted(original.board_names))}, and the "
            f"accelerators here are {', '.join(sorted(board_names))}; reproduce it on boards of "
            "the same kind"
        )
    if plan.cap_w != run.power.cap_w:
        raise PlanError(
            f"{original.reference.path} ran without a power cap, and {plan.cap_w:g} W is in force "
            "here; use a meter without power limits (--meter)"
        )
    protocol = PROTOCOLS.get(run.protocol)
    if protocol is None or protocol.comparable_with != CURRENT.comparable_with:
        raise PlanError(
            f"{original.reference.path} follows protocol {run.protocol}, and this version of "
            f"wattmark {CURRENT.version}; reproduce it with a version that has its protocol"
        )
    if plan.configuration.implementation_sha256 != run.implementation.sha256:
        raise PlanError(
            f"{plan.configuration.implementation}: the file has another SHA-256 than in "
            f"{original.reference.path}, which states {run.implementation.sha256}; put the file "
            "of that run on PYTHONPATH"
        )
    _check_same_file("--corpus", plan.configuration.corpus, run.settings.corpus_sha256)
    stated_weights = run.settings.weights.removeprefix("seeded").removeprefix("sha256:")
    _check_same_file("--weights", plan.configuration.weights, stated_weights or None)
    if plan.standing != run.standing:
        raise PlanError(
            f"{original.reference.path} has the standing {run.standing}, and the run here would "
            f"have {plan.standing}; reproduce it on boards and with a meter of the same standing"
        )


def _check_same_file(option: str, path: str | None, sha256: str | None) -> None:
    """Raise PlanError if the file is not the one that the original read."""
    if path is None and sha256 is not None:
        raise PlanError(f"{option}: the original read a file with SHA-256 {sha256}; name it")
    if path is not None and sha256 is None:
        raise PlanError(f"{option} {path}: the original read no such file; leave out {option}")
    if hash_named_file(path) != sha256:
        raise PlanError(
            f"{option} {path}: this is not the file of the original, whose SHA-256 is {sha256}"
        )


def check_options(run_request: RunRequest, workload: Workload) -> tuple[str, str | None]:
    """Return the implementation of the run and the SHA-256 of its file, as `find_implementation`
    does. Raises PlanError for options that contradict the workload, its implementation or each
    other."""
    # The ranges that click checks let NaN pass.
    if run_request.epoch_s is not None and not math.isfinite(run_request.epoch_s):
        raise PlanError(f"--epoch-seconds {run_request.epoch_s}: give a number of seconds")
    if workload.is_control:
        _check_control(run_request, workload)
    if run_request.nodes > 1 and workload.mode == "inference":
        raise PlanError(
            f"--nodes {run_request.nodes}: {workload.id} is one server, on one node; leave out "
            "--nodes"
        )
    # The nodes could find different batch sizes, because each of them judges its own ranks.
    if run_request.nodes > 1 and run_request.batch == "auto":
        raise PlanError(
            f"--nodes {run_request.nodes} --batch auto: find the batch on one node first, then "
            "name it"
        )
    implementation, sha256 = find_implementation(
        SIMULATED_WORK if run_request.simulates_work else run_request.implementation, workload
    )
    inputs = (
        _parse_options(run_request.options),
        _resolve_path("--corpus", run_request.corpus),
        _resolve_path("--weights", run_request.weights),
    )
    try:
        if implementation == SIMULATED_WORK:
            simulated_work.check_inputs(workload.id, *inputs)
        # Nobody but the submitter knows what an implementation of their own takes. A reproduction
        # is compared with its original.
        elif implementation == workload.implementation and run_request.original is None:
            workload.check_inputs(*inputs)
    except ValueError as error:
        raise PlanError(str(error)) from None
    return implementation, sha256


def _check_control(run_request: RunRequest, workload: Workload) -> None:
    """Raise PlanError if the check would refuse the requested control run."""
    if run_request.implementation not in (None, workload.implementation):
        raise PlanError(
            f"--implementation {run_request.implementation}: other runs are compared with a "
            "control run, so it has the reference implementation only; leave out --implementation"
        )
    if run_request.batch == "auto":
        raise PlanError(
            "--batch auto: the batch of a control run takes no memory; leave out --batch"
        )
    epoch_s = run_request.epoch_s
    is_real = run_request.simulate is None and not run_request.smoke
    if is_real and epoch_s is not None and epoch_s < CURRENT.min_control_epoch_s:
        raise PlanError(
            f"--epoch-seconds {epoch_s:g}: an epoch of a control run takes at least "
            f"{CURRENT.min_control_epoch_s:g} s"
        )


def _make_run_id(run_request: RunRequest, machine: Machine) -> str:
    """Return a new name for a run: time, workload, variant, number of accelerators, cap, locked SM
    clock and six random digits, so that runs started in the same second differ."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    count = run_request.nodes * len(machine.devices)
    cap = "nocap" if machine.cap_w is None else f"{machine.cap_w:.0f}W"
    clock = () if run_request.sm_clock_mhz is None else (f"{run_request.sm_clock_mhz}MHz",)
    # The time comes first, so that names sort by it.
    parts = (stamp, run_request.workload, run_request.variant, f"x{count}", cap, *clock)
    return "-".join((*parts, secrets.token_hex(3)))


def find_standing(plan: Plan, workload: Workload) -> str:
    """Return the standing of the run: `closed`, `open`, `control` or `demo`.

    Every run of a control workload has the standing `control`.

    A closed run is the workload as defined, with the reference implementation and synthetic input,
    and no locked SM clock.
    Any other real measurement is open. A run is a demo if its boards are simulated, if it does not
    compute on GPUs, if its size is not full, or if its epochs are shorter than the protocol
    requires.

    Raises MeterError if the source of the plan's meter cannot be loaded.
    """
    if workload.is_control:
        return "control"
    if source_class(plan.meter).simulated or plan.machine.torch_device != "cuda":
        return "demo"
    min_epoch_s = CURRENT.choose_min_epoch_s(False, workload.full.target is not None)
    if plan.configuration.size != "full" or plan.configuration.epoch_s < min_epoch_s:
        return "demo"
    # Results of the closed division compare systems, so all else must be equal.
    is_as_defined = (
        plan.configuration.implementation == workload.implementation
        and workload.variants[plan.configuration.variant] in workload.precisions
        and plan.configuration.variant not in workload.open_variants
        and plan.configuration.corpus is None
        and plan.sm_clock_mhz is None
        and (
            plan.configuration.requests is None
            or plan.configuration.requests
            == workload.full.request_set(plan.configuration.batch_size)
        )
    )
    return "closed" if is_as_defined else "open"


def get_default_batch_size(workload: Workload, size: str, variant: str, accelerators: int) -> int:
    """Return the default batch size of a process. That of a server is proportional to the number of
    its accelerators."""
    per_process = workload.size(size, variant).batch_sizes[variant]
    # One process serves on all accelerators of the node.
    return per_process * accelerators if workload.mode == "inference" else per_process


def _parse_batch(batch: str | None) -> int | None:
    """Return the number that `--batch` gives, None for `auto` or no option. Raises PlanError."""
    if batch is None or batch == "auto":
        return None
    if not batch.isdecimal() or int(batch) < 1:
        raise PlanError(f"--batch {batch}: give a number of samples of at least 1, or auto")
    return int(batch)


def find_implementation(name: str | None, workload: Workload) -> tuple[str, str | None]:
    """Return the name of the implementation to use, and the SHA-256 of its file. The hash is None
    for a reference implementation. Raises PlanError."""
    if name is None or name == workload.implementation:
        assert workload.implementation is not None
        return workload.implementation, None
    module, _, function = name.partition(":")
    if not all(part.isidentifier() for part in (*module.split("."), function)):
        raise PlanError(f"--implementation {name}: give package.module:function")
    # Find the file without importing it: an import may load torch, which takes seconds.
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        spec = None
    if spec is None or spec.origin is None or not spec.has_location:
        raise PlanError(
            f"--implementation {name}: there is no module {module}; install it, or put its "
            "directory on PYTHONPATH"
        )
    return name, hash_file(Path(spec.origin))


def _make_request_set(
    run_request: RunRequest, workload: Workload, concurrency: int
) -> RequestSet | None:
    """Return the requests to a server, None for a workload that trains. Raises PlanError."""
    if run_request.rate_per_s is not None and not math.isfinite(run_request.rate_per_s):
        raise PlanError(
            f"--request-rate {run_request.rate_per_s}: give a number of requests per second"
        )
    values = {
        "--prompt-tokens": run_request.prompt_tokens,
        "--output-tokens": run_request.output_tokens,
        "--request-rate": run_request.rate_per_s,
    }
    if workload.mode != "inference":
        if options := [option for option, value in values.items() if value is not None]:
            raise PlanError(
                f"{', '.join(options)}: {workload.id} serves no requests; leave the options out"
            )
        return None
    default = workload.size(run_request.size, run_request.variant).request_set(concurrency)
    return RequestSet(
        run_request.prompt_tokens or default.prompt_tokens,
        run_request.output_tokens or default.output_tokens,
        concurrency,
        run_request.rate_per_s,
        default.uniform,
    )


def _resolve_path(option: str, path: Path | None) -> str | None:
    # The plan has absolute paths, because a run may be resumed from another directory.
    if path is not None and not path.exists():
        raise PlanError(f"{option} {path}: the path does not exist")
    return None if path is None else str(path.resolve())


def _parse_options(texts: tuple[str, ...]) -> dict[str, str]:
    if invalid := [text for text in texts if not text.partition("=")[0] or "=" not in text]:
        raise PlanError(f"--option {invalid[0]}: give KEY=VALUE")
    return {key: value for key, _, value in (text.partition("=") for text in texts)}
