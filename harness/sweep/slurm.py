"""The batch script of a sweep: a Slurm job array with one job for each run."""

import json
import math
import shlex
from collections.abc import Iterator, Sequence

from jinja2 import Environment, PackageLoader, StrictUndefined

from harness.run.plan import MAX_IDLE_S, PlanError, RunRequest
from harness.run.planning import FULL_EPOCH_S, SMOKE_EPOCH_S
from harness.sweep.axis import BATCH, CAP, CONCURRENCY, GPUS, OPTIONAL_AXES, PRECISION, VARIANT
from harness.sweep.plan import (
    DEFAULT_CAPS_W,
    ORDER,
    Entry,
    estimate_start_s,
    make_sweep_id,
    resolve_run_request,
)
from harness.sweep.request import SweepRequest
from harness.system import read_description
from rules.bundle_format.documents import read_json, read_schema
from rules.bundle_format.files import Refused
from rules.bundle_format.records import RESULT_FORMAT, Json
from rules.protocol import CURRENT
from rules.workloads import workloads

TEMPLATE = "sweep.sbatch.j2"
MAX_COMMENT_CAP_W = 9999
"""The highest cap that scripts/wattmark-cap accepts. That script reads the cap from the comment of
the job, as whole watts of at most four digits."""
MAX_COMMON_CAP_W = 700.0
"""The highest default cap that all boards of the protocol allow."""
ARRAY_ORDER = f"{ORDER}, in an array of Slurm"
"""Slurm starts the jobs in this order, as far as nodes are free."""
TIME_FACTOR = 4
"""The time limit of a job, as a multiple of the expected time of a run. The factor is large because
the time to compile is not known."""


def render_script(request: SweepRequest, arguments: Sequence[str], nodes: int) -> str:
    """Return the text of the batch script. `arguments` are the arguments of `bench-submit run` that
    all runs share, without the axes of the sweep.

    The boards of the jobs are not known here, so the caps are not compared with their limits.
    Raises PlanError.
    """
    run_request = resolve_run_request(request.run_request)
    # Refuse a wrong file now. Otherwise the jobs would fail after hours in the queue.
    read_description(run_request.system)
    workload = workloads()[run_request.workload]
    if nodes > 1 and workload.mode == "inference":
        raise PlanError(
            f"--nodes {nodes}: {workload.id} runs one server on one node; leave out --nodes"
        )
    request = request.with_caps(_select_caps_of_jobs(request.caps_w))
    entries = request.shuffle()
    epoch_s = run_request.epoch_s or (
        SMOKE_EPOCH_S if run_request.size == "smoke" else FULL_EPOCH_S
    )
    # Idle power is measured twice: without and with the model.
    idle_s = 2 * min(MAX_IDLE_S, epoch_s)
    run_s = CURRENT.epochs * epoch_s + idle_s + estimate_start_s(run_request)
    environment = Environment(
        loader=PackageLoader("harness.sweep", "."),
        # A misspelt variable must raise an error, not leave a gap in a job script.
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    # Arguments of the user go into shell commands, so the template quotes them.
    environment.filters["sh"] = shlex.quote
    return environment.get_template(TEMPLATE).render(
        arguments=[*arguments, *_list_fixed_options(request)],
        jobs=len(entries),
        settings=list(_list_settings(request, entries)),
        # Each job adds its place and its repeat.
        sweep=json.dumps(_make_label(request, len(entries), nodes))[1:-1],
        repeats=[entry.repeat for entry in entries],
        workload=workload.id,
        sets_caps=request.caps_w != (None,),
        order=f"{ORDER} (seed {run_request.seed})",
        nodes=nodes,
        gpus=max(entry.gpus for entry in entries),
        hours=max(1, math.ceil(TIME_FACTOR * run_s / 3600)),
    )


def _make_label(request: SweepRequest, jobs: int, nodes: int) -> Json:
    """Return the part of `sweep` of result.json that all runs share."""
    reference = dict(request.reference)
    if isinstance(gpus := reference.get(GPUS.name), int):
        # The report counts the accelerators of all nodes.
        reference[GPUS.name] = nodes * gpus
    label = {
        "id": make_sweep_id(request.run_request),
        "of": jobs,
        "order": ARRAY_ORDER,
        "seed": request.run_request.seed,
        "axes": list(request.axis_names),
    }
    return {**label, "reference": reference} if reference else label


def parse_label(text: str) -> Json:
    """Return the label that a job of the script gives its run: `sweep` of result.json. Raises
    PlanError."""
    from jsonschema import Draft202012Validator

    schema = read_schema(RESULT_FORMAT)["properties"]["sweep"]
    try:
        label = read_json("--sweep-label", text.encode())
    except Refused as refused:
        problem = refused.problems[0].violation
        reason = f"found {problem.found}, expected {problem.expected}"
    else:
        errors = [error.message for error in Draft202012Validator(schema).iter_errors(label)]
        if not errors:
            return dict(label)
        reason = errors[0]
    raise PlanError(
        f"--sweep-label: this is no place in a sweep ({reason}); leave the option as "
        "bench-submit sweep --slurm has written it"
    )


def _select_caps_of_jobs(caps_w: tuple[float | None, ...]) -> tuple[float | None, ...]:
    """Return the caps of the jobs in W, None for the cap as found. Raises PlanError."""
    # The default leaves out caps that only some boards allow.
    if not caps_w:
        caps_w = tuple(c for c in DEFAULT_CAPS_W if c <= MAX_COMMON_CAP_W)
    # The prolog reads the cap from the comment of the job (docs/caps.md).
    if refused_caps := [c for c in caps_w if c is not None and (c % 1 or c > MAX_COMMENT_CAP_W)]:
        raise PlanError(
            f"--caps: {refused_caps[0]:g} W does not fit into the comment of a job; give whole "
            "watts of at most four digits"
        )
    return caps_w


def _list_fixed_options(request: SweepRequest) -> Iterator[str]:
    """Yield the options of `bench-submit run` for the settings of `Axis` that no run varies."""
    run_request, fields = request.run_request, {axis.field for axis in request.axes}
    if not fields & {VARIANT.field, PRECISION.field} and run_request.variant != RunRequest.variant:
        yield from (VARIANT.option, run_request.variant)
    for axis in OPTIONAL_AXES:
        if axis.field not in fields and (value := axis.read(run_request)) is not None:
            yield from (axis.option, str(value))
    if BATCH.field not in fields and run_request.batch is not None:
        yield from (_choose_batch_option(run_request), run_request.batch)


def _choose_batch_option(run_request: RunRequest) -> str:
    is_serving = workloads()[run_request.workload].mode == "inference"
    return (CONCURRENCY if is_serving else BATCH).option


def _list_settings(
    request: SweepRequest, entries: Sequence[Entry]
) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the settings that each run has of its own: the name of their array in the script, the
    option of `bench-submit run`, and the value of every run."""
    run_requests = [entry.apply(request.run_request) for entry in entries]
    for axis in request.axes:
        if axis.name == CAP.name:
            caps = ["as-found" if e.cap_w is None else f"{e.cap_w:g}" for e in entries]
            yield axis.array, "--cap", caps
        elif axis.field == BATCH.field:
            option = _choose_batch_option(request.run_request)
            yield axis.array, option, [str(run.batch) for run in run_requests]
        elif axis.field in (VARIANT.field, PRECISION.field):
            yield axis.array, VARIANT.option, [run.variant for run in run_requests]
        elif None in axis.values:
            # Of these axes, only clocks can be as found.
            raise PlanError(
                "--sm-clock as-found: every job of the script locks a clock; leave as-found out, "
                "and submit a job without --sm-clock"
            )
        else:
            yield axis.array, axis.option, [str(axis.read(run)) for run in run_requests]
    seeds = [str(request.run_request.seed + entry.repeat - 1) for entry in entries]
    yield "seeds", "--seed", seeds
