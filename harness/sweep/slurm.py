"""The batch script of a sweep: a Slurm job array with one job for each run."""

import math
import shlex
from collections.abc import Sequence

from jinja2 import Environment, PackageLoader, StrictUndefined

from harness.run.plan import MAX_IDLE_S, PlanError, RunRequest
from harness.run.planning import FULL_EPOCH_S, SMOKE_EPOCH_S
from harness.sweep.plan import (
    DEFAULT_CAPS_W,
    ORDER,
    estimate_start_s,
    parse_caps,
    parse_gpus,
    resolve_run_request,
    shuffle_runs,
)
from harness.system import read_description
from rules.protocol import CURRENT
from rules.workloads import workloads

TEMPLATE = "sweep.sbatch.j2"
MAX_COMMENT_CAP_W = 9999
"""The highest cap that scripts/wattmark-cap accepts. That script reads the cap from the comment of
the job, as whole watts of at most four digits."""
MAX_COMMON_CAP_W = 700.0
"""The highest default cap that all boards of the protocol allow."""
TIME_FACTOR = 4
"""The time limit of a job, as a multiple of the expected time of a run. The factor is large because
the time to compile is not known."""


def render_script(
    run_request: RunRequest,
    arguments: Sequence[str],
    caps: str | None,
    gpus: str,
    repeats: int,
    nodes: int,
) -> str:
    """Return the text of the batch script. `arguments` are the arguments of `bench-submit run` that
    all runs share.

    The boards of the jobs are not known here, so the caps are not compared with their limits.
    Raises PlanError.
    """
    run_request = resolve_run_request(run_request)
    # Refuse a wrong file now. Otherwise the jobs would fail after hours in the queue.
    read_description(run_request.system)
    workload = workloads()[run_request.workload]
    if nodes > 1 and workload.mode == "inference":
        raise PlanError(
            f"--nodes {nodes}: {workload.id} runs one server on one node; leave out --nodes"
        )
    counts = parse_gpus(gpus)
    caps_w = _parse_caps_of_jobs(caps)
    entries = shuffle_runs(caps_w, counts, repeats, run_request.seed)
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
        arguments=arguments,
        entries=[(e, "as-found" if e.cap_w is None else f"{e.cap_w:g}") for e in entries],
        seed=run_request.seed,
        workload=workload.id,
        sets_caps=caps_w != (None,),
        order=f"{ORDER} (seed {run_request.seed})",
        nodes=nodes,
        gpus=max(counts),
        hours=max(1, math.ceil(TIME_FACTOR * run_s / 3600)),
    )


def _parse_caps_of_jobs(caps: str | None) -> tuple[float | None, ...]:
    """Return the caps of the jobs in W, None for the cap as found. Raises PlanError."""
    # The default leaves out caps that only some boards allow.
    caps_w = (
        tuple(c for c in DEFAULT_CAPS_W if c <= MAX_COMMON_CAP_W)
        if caps is None
        else parse_caps(caps)
    )
    # The prolog reads the cap from the comment of the job (docs/caps.md).
    if refused_caps := [c for c in caps_w if c is not None and (c % 1 or c > MAX_COMMENT_CAP_W)]:
        raise PlanError(
            f"--caps: {refused_caps[0]:g} W does not fit into the comment of a job; give whole "
            "watts of at most four digits"
        )
    return tuple(caps_w)
