"""`bench-submit run --until-ci`: repeat a run until the interval over runs of J per item is narrow.

Each run is a bundle of its own, with the next seed. Bundles of earlier calls in the same directory
count if they are repeats of the request, so the same command continues after an interruption. The
interval is over runs on the same accelerators: it does not contain the differences between boards.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from checker.engine import judge
from harness.errors import PlanError
from harness.run import command
from harness.run.outcome import Outcome
from harness.run.plan import Plan, RunRequest
from harness.run.run_directory import STATE_FILE
from harness.run.settings import describe_plan, describe_run
from rules.bundle_format.records import Json
from rules.declarations.run import RunDeclaration
from rules.declarations.system import EnvironmentDeclaration
from rules.finding import Severity, format_count
from rules.metrics.energy import MetricsError
from rules.metrics.figures import Estimate, estimate_mean
from rules.metrics.figures_json import figures_from_json
from rules.metrics.uncertainty.repeats import count_needed_runs

MIN_RUNS = 3
"""Fewer runs do not determine their spread."""
MAX_RUNS = 20


def run_until_narrow(run_request: RunRequest, out: Path, target_percent: float) -> Outcome:
    """Repeat the requested run until the 95 % interval over runs of its J per item is at most
    `target_percent` of the mean on either side. The outcome passes if it is.

    Ends without that after `MAX_RUNS`, or when even half of the standard deviation so far would
    need more, or after a run whose bundle does not pass the check. Raises PlanError for a request
    that cannot be repeated, and the errors of `harness.run.command.run`.
    """
    _refuse_unrepeatable(run_request)
    # With simulated boards, each run starts a simulator of its own.
    with command.simulate_boards(run_request.simulate):
        plan = command.plan_run(run_request, out)
    for line in explain_others(plan, out):
        command.print_line(line)
    runs = find_repeats(plan, out)
    bundles: tuple[Path, ...] = ()
    while True:
        estimate = estimate_mean(list(runs.values())) if runs else None
        command.print_line(describe_interval(estimate, target_percent))
        if estimate is not None and is_narrow(estimate, target_percent):
            return Outcome(True, bundles)
        if reason := explain_end(estimate, target_percent):
            command.print_line(reason)
            return Outcome(False, bundles)
        seed = next(s for s in range(run_request.seed, 2**32) if s not in runs)
        unfinished = find_unfinished(plan, out, seed)
        outcome = (
            command.run(replace(run_request, seed=seed), out)
            if unfinished is None
            else command.resume(unfinished)
        )
        bundles += outcome.bundles
        if not outcome.passes:
            command.print_line(f"the run with seed {seed} does not pass the check; no further runs")
            return Outcome(False, bundles)
        runs = find_repeats(plan, out)
        if seed not in runs:
            command.print_line(
                f"the run with seed {seed} is no repeat of the others: its code, settings or "
                "accelerators differ; no further runs"
            )
            return Outcome(False, bundles)


def _refuse_unrepeatable(run_request: RunRequest) -> None:
    if run_request.nodes > 1:
        raise PlanError("--until-ci repeats runs on one node only; leave out --until-ci or --nodes")
    if run_request.batch == "auto":
        raise PlanError(
            "--batch auto: each run would search for a batch size of its own; give a number with "
            "--until-ci"
        )


def is_narrow(estimate: Estimate, target_percent: float) -> bool:
    """Whether the mean over runs comes from enough runs and has a narrow interval."""
    return estimate.n >= MIN_RUNS and 100 * estimate.half_width <= target_percent * estimate.mean


def explain_end(estimate: Estimate | None, target_percent: float) -> str | None:
    """Why further runs would not make the interval narrow; None if they may."""
    if estimate is None or estimate.sd is None or estimate.n < MIN_RUNS:
        return None
    sd_percent = 100 * estimate.sd / estimate.mean
    needed = count_needed_runs(sd_percent, target_percent)
    spread = f"the standard deviation over runs is {sd_percent:.2g} %"
    if estimate.n >= MAX_RUNS:
        return (
            f"the interval is not within {target_percent:g} % after {MAX_RUNS} runs, the most that "
            f"are made: {spread}, which needs about {needed} runs"
        )
    if count_needed_runs(sd_percent / 2, target_percent) > MAX_RUNS:
        return (
            f"the interval cannot be within {target_percent:g} % after {MAX_RUNS} runs, the most "
            f"that are made: {spread}, which needs about {needed} runs, and half of it would need "
            "more than that too"
        )
    return None


def describe_interval(estimate: Estimate | None, target_percent: float) -> str:
    """The state of the repeats as a line."""
    aim = f"the aim is {target_percent:g} % after at least {MIN_RUNS} runs"
    if estimate is None:
        return f"no repeats so far; {aim}"
    runs = format_count(estimate.n, "run")
    if estimate.ci95 is None:
        return f"{estimate.mean:.4g} J per item over {runs}; {aim}"
    return (
        f"{estimate.mean:.4g} J per item \u00b1 {100 * estimate.half_width / estimate.mean:.2g} % "
        f"over {runs} on the same accelerators (95 %); {aim}"
    )


def find_repeats(plan: Plan, out: Path) -> dict[int, float]:
    """J per item of the finished runs in `out` that repeat the plan, by seed. A bundle that does
    not pass the check does not count, and of two with one seed the first by name."""
    joules_by_seed: dict[int, float] = {}
    for path, result, differences in compare_bundles(plan, out):
        if differences:
            continue
        joules = figures_from_json(result).headline.joules_per_item
        errors = any(f.severity == Severity.ERROR for f in judge(path, signed=False).findings)
        if joules is not None and joules.mean > 0 and not errors:
            joules_by_seed.setdefault(result["settings"]["seed"], joules.mean)
    return joules_by_seed


def explain_others(plan: Plan, out: Path) -> Iterator[str]:
    """Yield why bundles of the same workload in `out` are no repeats."""
    for path, _, differences in compare_bundles(plan, out):
        if differences and not {"workload", "size", "standing"} & {*differences}:
            yield f"{path}: does not count, because it differs in: {', '.join(differences)}"


def compare_bundles(plan: Plan, out: Path) -> Iterator[tuple[Path, Json, list[str]]]:
    """Yield path and result of each bundle in `out`, and the names of what differs from the
    plan."""
    planned = _describe_plan(plan)
    paths = out.iterdir() if out.is_dir() else ()
    for path in sorted(p for p in paths if p.is_dir() and not p.name.startswith(".")):
        result, environment = (_read(path / f"{name}.json") for name in ("result", "environment"))
        try:
            figures_from_json(result)
            described = _describe_result(
                RunDeclaration.from_document(result),
                EnvironmentDeclaration.from_document(environment),
            )
        # A directory can hold any file of these names.
        except (KeyError, TypeError, ValueError, AttributeError, MetricsError):
            continue
        yield path, result, [name for name in planned if planned[name] != described[name]]


def _describe_plan(plan: Plan) -> dict[str, object]:
    """What the repeats of a run have in common, by name."""
    return {
        **describe_plan(plan),
        "standing": plan.standing,
        "accelerators": sorted(device.uuid for device in plan.devices),
        "cap_w": plan.cap_w,
    }


def _describe_result(run: RunDeclaration, environment: EnvironmentDeclaration) -> dict[str, object]:
    """The same of a finished run."""
    return {
        **describe_run(run, environment),
        "standing": run.standing,
        "accelerators": sorted(uuid for rank in run.ranks for uuid in rank.accelerators),
        "cap_w": run.power.cap_w,
    }


def find_unfinished(plan: Plan, out: Path, seed: int) -> Path | None:
    """The directory of an interrupted run in `out` that repeats the plan with this seed; None
    without one."""
    for directory in sorted(out.glob(".*.running"), reverse=True):
        try:
            unfinished = Plan.load(directory)
        except PlanError:
            continue
        repeat = plan.with_settings(seed=seed)
        if (directory / STATE_FILE).exists() and is_repeat(unfinished, repeat):
            return directory
    return None


def is_repeat(unfinished: Plan, plan: Plan) -> bool:
    """Whether an unfinished run repeats the plan with the same seed."""
    try:
        described = _describe_plan(unfinished)
    except PlanError:  # a file of the unfinished run is gone
        return False
    return unfinished.configuration.seed == plan.configuration.seed and described == _describe_plan(
        plan
    )


def _read(path: Path) -> Json:
    """The JSON object in a file, or an empty one if the file holds none."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
