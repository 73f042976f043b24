"""What `bench-submit run` does, step by step: wish, plan, preflight, run, pre-check."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from checker.engine import judge
from harness import batchsize, preflight, session
from harness.evidence import LOG
from harness.meters import Meter, MeterError, open_meter
from harness.plan import Plan, PlanError, make_plan, workload_of
from harness.progress import View
from harness.system import read_description
from rules.workloads import workloads


@dataclass(frozen=True)
class Wish:
    """What was asked for on the command line."""

    workload: str
    variant: str
    batch: str | None
    gpus: int
    cap_w: float | None
    smoke: bool
    simulate: str | None
    epoch_s: float | None
    seed: int
    system: Path | None


def run(wish: Wish, out: Path) -> bool:
    """Run what was wished for, leaving a bundle in `out`; whether the pre-check found no error.

    Raises PlanError, MeterError, RunFailed, SamplerError or Interrupted.
    """
    plan = plan_for(wish)
    directory = out / f".{plan.run_id}.running"
    directory.mkdir(parents=True)
    with View(Console(), directory / LOG) as view, _hint(directory):
        _announce(plan, view)
        if wish.batch == "auto":
            with session.signals():
                limit = workloads()[plan.workload].size(plan.size).max_batch_size
                best, trials = batchsize.find(plan, limit, directory, view)
            plan = replace(plan, batch_size=best, batch_search=trials)
            view.say(f"batch size {best} per accelerator")
        return _finish(plan, directory, view)


def resume(directory: Path) -> bool:
    """Run again the unfinished run in `directory`; whether the pre-check found no error. Raises as `run` does."""
    plan = session.take_up(directory)
    with _meter(plan.meter) as meter:
        found = preflight.choose(meter, len(plan.devices))
        if found != plan.devices:
            raise PlanError(f"{directory}: the run was planned for other accelerators than those found now")
        preflight.cap_found(meter, found, plan.cap_w)
        _refuse(meter, plan)
    with View(Console(), directory / LOG) as view, _hint(directory):
        _announce(plan, view)
        return _finish(plan, directory, view)


def plan_for(wish: Wish) -> Plan:
    """The plan that fulfils a wish on this machine. Raises PlanError or MeterError."""
    size = "smoke" if wish.smoke else "full"
    workload = workload_of(wish.workload, wish.variant, size)
    name = _meter_name(wish)
    with _meter(name) as meter:
        devices = preflight.choose(meter, wish.gpus)
        cap_w = preflight.cap_found(meter, devices, wish.cap_w)
        plan = make_plan(
            workload,
            variant=wish.variant,
            size=size,
            batch_size=_batch_size(wish.batch),
            seed=wish.seed,
            epoch_s=wish.epoch_s,
            meter=name,
            driver=meter.driver,
            devices=devices,
            state=meter.state,
            cap_w=cap_w,
            system=read_description(wish.system),
        )
        _refuse(meter, plan)
    return plan


def _meter_name(wish: Wish) -> str:
    """The meter to use: simulated where asked for, else that of the GPUs, else, for a smoke run, that of the CPU."""
    if wish.simulate is not None:
        return f"simulated:{wish.simulate}"
    refusals = []
    for name in ("nvidia", "rapl") if wish.smoke else ("nvidia",):
        try:
            open_meter(name).close()
            return name
        except MeterError as error:
            refusals.append(str(error))
    advice = "--simulate h200 needs none" if wish.smoke else "without a GPU there are --smoke and --simulate h200"
    raise MeterError(f"no meter can be used here ({'; '.join(refusals)}); {advice}")


def _batch_size(batch: str | None) -> int | None:
    if batch is None or batch == "auto":
        return None
    if not batch.isdigit() or int(batch) < 1:
        raise PlanError(f"--batch {batch}: give a number of items of at least 1, or auto")
    return int(batch)


def _refuse(meter: Meter, plan: Plan) -> None:
    wrong = list(preflight.objections(meter, plan.devices))
    if wrong:
        raise PlanError("this would not pass the check:\n" + "\n".join(f"  {line}" for line in wrong))


def _announce(plan: Plan, view: View) -> None:
    accelerators = f"{len(plan.devices)} x {plan.devices[0].name}"
    cap = "no cap" if plan.cap_w is None else f"cap {plan.cap_w:g} W as found"
    view.say(f"{plan.workload} {plan.variant}, {plan.size} size, {accelerators}, {cap}, meter {plan.meter}")
    view.say(f"{plan.epochs} epochs of about {plan.epoch_s:g} s, the first discarded; standing {plan.standing}")
    for remark in preflight.remarks(plan.devices):
        view.say(f"note: {remark}")


def _finish(plan: Plan, directory: Path, view: View) -> bool:
    """Run the plan, judge the bundle as bench-check will, and say how it came out."""
    target = directory.parent / plan.run_id
    session.run(plan, directory, target, view)
    findings = judge(target, signed=False).findings
    for finding in findings:
        view.tell(f"{finding.severity} {finding.rule} {finding.file} {finding.pointer}: {finding.message}")
    errors = sum(f.severity == "error" for f in findings)
    view.tell(f"bundle: {target}")
    view.tell("pre-check: no errors; sign it next" if not errors else f"pre-check: {errors} error(s); it would be refused")
    return not errors


@contextmanager
def _meter(name: str) -> Iterator[Meter]:
    meter = open_meter(name)
    try:
        yield meter
    finally:
        meter.close()


@contextmanager
def _hint(directory: Path) -> Iterator[None]:
    """Where a run does not come to its end, say where it lies and how to take it up."""
    try:
        yield
    except BaseException:
        if directory.exists():
            Console(stderr=True).print(
                f"unfinished: {directory} (log in {LOG}); run it again with: bench-submit run --resume {directory}",
                soft_wrap=True, highlight=False, markup=False,
            )  # fmt: skip
        raise
