"""The batch script of a sweep: an array of Slurm jobs, one for each run."""

import math
import shlex
from collections.abc import Sequence

from jinja2 import Environment, PackageLoader, StrictUndefined

from harness.run.plan import PlanError, RunRequest
from harness.run.planning import FULL_EPOCH_S, SMOKE_EPOCH_S
from harness.sweep.plan import (
    DEFAULT_CAPS_W,
    ORDER,
    common,
    parse_caps,
    parse_gpus,
    shuffle_runs,
    start_s,
)
from harness.system import read_description
from rules.protocol import CURRENT
from rules.workloads import workloads

TEMPLATE = "sweep.sbatch.j2"
MOST_COMMENT_W = 9999
"""The highest cap that scripts/wattmark-cap accepts. It reads whole watts of at most four digits
from the comment of the job."""
COMMON_W = 700.0
"""The highest of the default caps that is not for some boards only."""
TIME_FACTOR = 4
"""The time limit of a job as a multiple of the expected time of a run, because the time to compile
is not known. A job has at least one hour."""


def script(
    run_request: RunRequest,
    arguments: Sequence[str],
    caps: str | None,
    gpus: str,
    repeats: int,
    nodes: int,
) -> str:
    """The script that makes the runs of a sweep; `arguments` are what `bench-submit run` is told of
    all of them.

    Which board they run on is not known yet, so the caps are not compared with its limits here.
    Raises PlanError.
    """
    run_request = common(run_request)
    # Refuse a wrong file now. The jobs would fail after hours in the queue.
    read_description(run_request.system)
    workload = workloads()[run_request.workload]
    if nodes > 1 and workload.mode == "inference":
        raise PlanError(f"--nodes {nodes}: {workload.id} is one server, on one node")
    counts = parse_gpus(gpus)
    # The board is not known here, so the default leaves out caps that only some boards allow.
    caps_w = tuple(c for c in DEFAULT_CAPS_W if c <= COMMON_W) if caps is None else parse_caps(caps)
    # The prolog reads the cap from the comment of the job (docs/caps.md).
    if odd := [c for c in caps_w if c is not None and (c % 1 or c > MOST_COMMENT_W)]:
        raise PlanError(
            f"--caps: {odd[0]:g} W cannot be said in a job's comment, which has whole "
            "watts of at most four digits"
        )
    entries = shuffle_runs(caps_w, counts, repeats, run_request.seed)
    run_s = CURRENT.epochs * (
        run_request.epoch_s or (SMOKE_EPOCH_S if run_request.size == "smoke" else FULL_EPOCH_S)
    ) + start_s(run_request)
    environment = Environment(
        loader=PackageLoader("harness.sweep", "."),
        # A misspelt variable must be an error and not an empty word in a job script.
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    # Arguments of the user go into shell lines.
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
