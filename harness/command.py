"""What `bench-submit run` does, step by step: wish, plan, preflight, attempt, pre-check."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from checker.engine import judge
from harness import batchsize, preflight, rundir, session
from harness.meters import Device, Meter, MeterError, open_meter
from harness.plan import Plan, PlanError, make_plan, workload_of
from harness.progress import View
from harness.sign import SigningError
from harness.sign import sign as sign_manifest
from harness.system import read_description, source_hash
from rules.rule import Severity
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

    Raises PlanError, MeterError, RunFailed, SamplerError, OSError or Interrupted.
    """
    plan = plan_for(wish)
    directory = out / f".{plan.run_id}.running"
    with session.signals():
        try:
            directory.mkdir(parents=True)
        except OSError as error:
            raise PlanError(f"--out {out}: cannot be written ({error.strerror}); name a directory that can") from None
        return carry_out(plan, directory)


def resume(directory: Path) -> bool:
    """Run again the unfinished run in `directory`; whether the pre-check found no error. Raises as `run` does."""
    directory = directory.resolve()
    plan = rundir.unfinished(directory)
    with _meter(plan.meter) as meter:
        devices, _ = _inspect(meter, len(plan.devices), plan.cap_w)
    if devices != plan.devices:
        raise PlanError(f"{directory}: the run was planned for other accelerators than those found now")
    with session.signals():
        return carry_out(rundir.put_aside(directory, replace(plan, source_sha256=source_hash())), directory)


def sign(bundle: Path, key: Path, principal: str) -> Path:
    """Sign a bundle that is whole, and return the signature's path. Raises SigningError."""
    broken = [f for f in judge(bundle, signed=False).findings if f.rule[0] in "SI" and f.severity == Severity.ERROR]
    if broken:
        told = "\n".join(f"  {f.rule} {f.file} {f.pointer}: {f.found}" for f in broken)
        raise SigningError(f"{bundle}: not signed, for its files are not those that the run left:\n{told}")
    return sign_manifest(bundle, key, principal)


def plan_for(wish: Wish) -> Plan:
    """The plan that fulfils a wish on this machine. Raises PlanError or MeterError."""
    size = "smoke" if wish.smoke else "full"
    workload = workload_of(wish.workload, wish.variant, size)
    batch_size = _batch_size(wish.batch)
    description = read_description(wish.system)
    name = _meter_name(wish)
    with _meter(name) as meter:
        devices, cap_w = _inspect(meter, wish.gpus, wish.cap_w)
        return make_plan(
            workload,
            variant=wish.variant,
            size=size,
            batch_size=batch_size,
            search=wish.batch == "auto",
            seed=wish.seed,
            epoch_s=wish.epoch_s,
            meter=name,
            torch_device=meter.torch_device,
            driver=meter.driver,
            devices=devices,
            state=meter.state,
            cap_w=cap_w,
            source_sha256=source_hash(),
            system=description,
        )


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
    advice = "--simulate h200 needs none" if wish.smoke else "without a GPU there is --smoke --simulate h200"
    raise MeterError(f"no meter can be used here ({'; '.join(refusals)}); {advice}")


def _batch_size(batch: str | None) -> int | None:
    if batch is None or batch == "auto":
        return None
    if not batch.isdigit() or int(batch) < 1:
        raise PlanError(f"--batch {batch}: give a number of samples of at least 1, or auto")
    return int(batch)


def _inspect(meter: Meter, count: int, cap_w: float | None) -> tuple[tuple[Device, ...], float | None]:
    """The accelerators to use and the cap in force on them. Raises PlanError where a run on them would not pass."""
    devices = preflight.choose(meter, count)
    found_w = preflight.cap_found(meter, devices, cap_w)
    if wrong := list(preflight.objections(meter, devices)):
        raise PlanError("this would not pass the check:\n" + "\n".join(f"  {line}" for line in wrong))
    return devices, found_w


def carry_out(plan: Plan, directory: Path) -> bool:
    """Run the plan in its `directory`, judge the bundle beside it as bench-check will, and say how it came out.

    Raises as `run` does; the directory then stays, with its state.
    """
    target = directory.parent / plan.run_id
    console = Console()
    with _hint(directory), rundir.attempt(plan, directory), View(console, directory / rundir.LOG_FILE) as view:
        _announce(plan, view)
        if plan.batch_search == ():
            plan = _with_highest_batch(plan, directory, view)
        session.run(plan, directory, target, view)
    shutil.rmtree(directory, ignore_errors=True)  # some of it may linger, on NFS
    findings = judge(target, signed=False).findings
    errors = sum(f.severity == Severity.ERROR for f in findings)
    lines = [f"{f.severity} {f.rule} {f.file} {f.pointer}: found {f.found}, expected {f.expected}. {f.message}" for f in findings]
    outcome = f"{errors} error(s); it would be refused" if errors else "no errors; sign it next"
    for line in (*lines, f"bundle: {target}", f"pre-check: {outcome}"):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    return not errors


def _with_highest_batch(plan: Plan, directory: Path, view: View) -> Plan:
    limit = workloads()[plan.workload].size(plan.size).max_batch_size
    best, trials = batchsize.find(plan, limit, directory, view)
    view.say(f"batch size {best} per accelerator")
    found = replace(plan, batch_size=best, batch_search=trials)
    found.save(directory)  # the workers read it there
    return found


def _announce(plan: Plan, view: View) -> None:
    accelerators = f"{len(plan.devices)} x {plan.devices[0].name}"
    cap = "no cap" if plan.cap_w is None else f"cap {plan.cap_w:g} W as found"
    view.say(f"{plan.workload} {plan.variant}, {plan.size} size, {accelerators}, {cap}, meter {plan.meter}")
    view.say(f"{plan.epochs} epochs of about {plan.epoch_s:g} s, the first discarded; standing {plan.standing}")
    for remark in preflight.remarks(plan):
        view.say(f"note: {remark}")


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
        hint = f"unfinished: {directory} (log in {rundir.LOG_FILE}); run it again with: bench-submit run --resume {directory}"
        Console(stderr=True).print(hint, soft_wrap=True, highlight=False, markup=False)
        raise
