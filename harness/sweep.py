"""`bench-submit sweep`: runs of one workload over power caps, planned and written down first, taken up again after any end."""

import fcntl
import json
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from checker.engine import judge, judge_all
from harness import caps, command, interrupts, sweep_table
from harness.cluster import ClusterError
from harness.meters import MeterError, NotAllowedError, Readback, open_meter
from harness.plan import Plan, PlanError, Wish
from harness.rundir import Interrupted
from harness.sampler import SamplerError
from harness.session import RunFailed
from harness.sweep_plan import (
    AS_FOUND,
    DEFAULT_CAPS_W,
    Entry,
    Sweep,
    code_of,
    common,
    parse_caps,
    parse_gpus,
    plan_of,
    shuffled,
    start_s,
)
from rules.checks.cap_without_effect import RULE as CAP_WITHOUT_EFFECT
from rules.records import Json
from rules.rule import Severity

FAILURES = (PlanError, MeterError, RunFailed, ClusterError, SamplerError, OSError)
"""What ends one run of a sweep and not the sweep."""


def run(wish: Wish, asked: str | None, gpus: str, repeats: int, out: Path, dry_run: bool) -> bool:
    """Plan a sweep, show it and, without `dry_run`, write the plan to `out` and carry it out; whether no run failed.

    Raises PlanError, MeterError, NotAllowedError or Interrupted.
    """
    counts, named = parse_gpus(gpus), None if asked is None else parse_caps(asked)
    with command.boards(wish.simulate):
        # Refuses what every run would be refused for. The caps are the sweep's to look at.
        plan = command.plan_for(replace(common(wish), gpus=max(counts)))
        caps_w = _allowed(named, plan)
        planned = plan_of(wish, shuffled(caps_w, counts, repeats, wish.seed))
        for line in announcement(planned, plan):
            say(line)
        refusal = _refusal(planned, plan)
        if dry_run:
            say(refusal or "nothing speaks against it; without --dry-run it starts")
            return True
        if refusal:
            raise NotAllowedError(refusal)
        path = planned.save(out)
        say(f"plan: {path}")
        return carry_out(planned, path)


def resume(path: Path) -> bool:
    """Go on with the sweep whose plan is in the file `path`. Raises as `run` does."""
    sweep = Sweep.load(path)
    if (sweep.source_sha256, sweep.implementation_sha256) != code_of(sweep.wish):
        raise PlanError(f"{path}: the code that runs has changed since; go on with that code, or start the sweep anew")
    with command.boards(sweep.wish.simulate):
        return carry_out(sweep, path)


def _allowed(caps_w: tuple[float | None, ...] | None, plan: Plan) -> tuple[float | None, ...]:
    """The caps to run: those named, else the protocol's. Raises PlanError where a board does not allow one that is named."""
    if caps_w == (None,):
        return caps_w
    with closing(open_meter(plan.meter)) as meter:
        limits = {d.uuid: meter.readback(d.uuid, frozenset()) for d in plan.devices}
    if none := [uuid for uuid, one in limits.items() if one.max_mw is None]:
        raise PlanError(f"{none[0]}: the meter {plan.meter} has no power limit of it; the sweep can be --caps {AS_FOUND} only")
    if caps_w is None:
        caps_w = tuple(cap_w for cap_w in DEFAULT_CAPS_W if all(_within(cap_w, one) for one in limits.values()))
        if not caps_w:
            raise PlanError(f"{plan.devices[0].uuid} allows none of the caps of the protocol; name some with --caps")
    for uuid, one in limits.items():
        if wrong := [f"{cap_w:g}" for cap_w in caps_w if cap_w is not None and not _within(cap_w, one)]:
            raise PlanError(
                f"--caps: {', '.join(wrong)} W cannot be set on {uuid}, which allows "
                f"{(one.min_mw or 0) / 1e3:g} to {(one.max_mw or 0) / 1e3:g} W"
            )
    return caps_w


def _refusal(sweep: Sweep, plan: Plan) -> str | None:
    """Why the caps of a sweep cannot be set here; None where nothing speaks against it. `plan` is of a run as found."""
    if all(e.cap_w in (None, plan.cap_w) for e in sweep.entries):
        return None
    why = caps.refusal(plan.meter)
    return f"--caps: {why}; --caps {AS_FOUND} needs no such right" if why else None


def _within(cap_w: float, limits: Readback) -> bool:
    return (limits.min_mw or 0) <= cap_w * 1e3 <= (limits.max_mw or math.inf)


def announcement(sweep: Sweep, plan: Plan) -> Iterator[str]:
    """The plan for people: what runs in which order, how long it may take, and what is changed meanwhile."""
    wish, entries = sweep.wish, sweep.entries
    sets = any(e.cap_w is not None for e in entries)
    each_s = plan.epochs * plan.epoch_s + start_s(wish)
    name = plan.devices[0].name
    yield f"sweep {sweep.id}: {wish.workload} {wish.variant}, {plan.size} size, on {name}, standing {plan.standing}"
    yield f"{counted(len(entries), 'run')}, {sweep.order} (seed {wish.seed}):"
    yield from (f"  {e.place:3d}  {e}" for e in entries)
    yield f"each run warms up at its own cap: of its {plan.epochs} epochs of {plan.epoch_s:g} s the first is discarded"
    yield f"expected time: {minutes(len(entries) * each_s)}, assuming {start_s(wish):g} s a run to build, warm up and calibrate"
    what = f"the power cap of {', '.join(d.uuid for d in plan.devices)}, set for each run and put back to what was found after it"
    yield f"changed meanwhile: {what if sets else 'nothing; the caps are taken as found'}"


def carry_out(sweep: Sweep, path: Path) -> bool:
    """Make every run of the sweep that is not finished, one after the other; whether all of them are finished then.

    Raises NotAllowedError where no cap can be set, and Interrupted, having said how to go on.
    """
    out = path.parent
    outcomes: dict[int, Json | str] = {}
    with _going_on(path), interrupts.signals(), _held(path):
        outcomes.update(finished(sweep, out, sweep.entries))
        say(f"{len(outcomes)} of {counted(len(sweep.entries), 'run')} finished so far")
        walls_s: list[float] = []
        for entry in sweep.entries:
            if entry.place in outcomes:
                continue
            say(_progress(sweep, entry, outcomes, walls_s))
            began_s = time.monotonic()
            outcomes[entry.place] = _take(sweep, entry, out)
            walls_s.append(time.monotonic() - began_s)
        sweep_table.show(sweep, outcomes, _without_effect(out))
    return not any(isinstance(o, str) for o in outcomes.values())


def _progress(sweep: Sweep, entry: Entry, outcomes: dict[int, Json | str], walls_s: Sequence[float]) -> str:
    failed = sum(isinstance(o, str) for o in outcomes.values())
    left = len(sweep.entries) - len(outcomes)
    told = f", {minutes(left * sum(walls_s) / len(walls_s))} left" if walls_s else ""
    of = f"run {entry.place} of {len(sweep.entries)}: {entry}"
    return f"{of}; {len(outcomes) - failed} done, {failed} failed{told}"


def _take(sweep: Sweep, entry: Entry, out: Path) -> Json | str:
    """Make one run; the result of its bundle, or why there is none. Raises NotAllowedError or Interrupted."""
    try:
        if not _again(sweep, entry, out):
            command.run(sweep.wish_of(entry), out)
    except NotAllowedError:
        raise
    except FAILURES as error:
        say(f"run {entry.place} failed: {error}")
        return str(error)
    return finished(sweep, out, [entry]).get(entry.place, "its bundle does not pass the check")


def _again(sweep: Sweep, entry: Entry, out: Path) -> bool:
    """Run again what an earlier process has left unfinished of this entry; whether there was anything that could be."""
    for directory in sorted(out.glob(".*.running"), reverse=True):
        try:
            left = Plan.load(directory)
        except PlanError:
            continue
        if left.sweep == sweep.label(entry):
            try:
                command.resume(directory)
                return True
            except PlanError as error:
                say(f"{error}; run {entry.place} is started anew")
    return False


def finished(sweep: Sweep, out: Path, entries: Sequence[Entry]) -> dict[int, Json]:
    """The results of those of `entries` whose bundle lies in `out`, by place.

    A bundle counts by what it says of itself and if the checker finds no error in it, whatever it is called.
    """
    found: dict[int, Json] = {}
    for path in sorted(p for p in out.iterdir() if p.is_dir() and not p.name.startswith(".")):
        result = _object(path / "result.json")
        label = result.get("sweep")
        if not isinstance(label, dict) or label.get("id") != sweep.id:
            continue
        entry = next((e for e in entries if e.place == label.get("place")), None)
        if entry is None:
            continue
        if objection := _objection(sweep, entry, path, result):
            say(f"{path}: {objection}; it is left as it is and does not count as run {entry.place}")
        else:
            found.setdefault(entry.place, result)
    return found


def _without_effect(out: Path) -> frozenset[str]:
    """The ids of the runs in `out` whose cap changed nothing against another's, which no bundle shows alone (X101)."""
    found = [v.path for v in judge_all([out], signed=False).verdicts if CAP_WITHOUT_EFFECT.id in {f.rule for f in v.findings}]
    return frozenset(_object(path / "result.json")["run_id"] for path in found)


def _objection(sweep: Sweep, entry: Entry, path: Path, result: Json) -> str | None:
    """Why the bundle at `path` is not a finished run of the entry."""
    if errors := sorted({f.rule for f in judge(path, signed=False).findings if f.severity == Severity.ERROR}):
        return f"it does not pass the check ({', '.join(errors)})"
    software, code = _object(path / "environment.json"), result["implementation"]
    for what, found, planned in (
        ("sweep", result["sweep"], sweep.label(entry)),
        ("workload", result["workload"], sweep.wish.workload),
        ("variant", code["variant"], sweep.wish.variant),
        ("accelerators", result["settings"]["accelerators"], entry.gpus),
        ("cap_w", result["power"]["cap_w"], result["power"]["cap_w"] if entry.cap_w is None else entry.cap_w),
        ("source_sha256", software["source_sha256"], sweep.source_sha256),
        ("implementation's sha256", code.get("sha256"), sweep.implementation_sha256),
    ):
        if found != planned:
            return f"its {what} is {found}, planned was {planned}"
    return None


def _object(path: Path) -> Json:
    """The JSON object in a file, empty where there is none."""
    try:
        value = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def say(text: str) -> None:
    """A line for the reader."""
    Console().print(text, markup=False, highlight=False, soft_wrap=True)


def counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def minutes(seconds: float) -> str:
    """A length of time as precise as a guess is."""
    if seconds < 90:
        return f"about {max(1, round(seconds / 10)) * 10} s"
    whole = round(seconds / 60)
    return f"about {whole} min" if whole < 120 else f"about {whole // 60} h {whole % 60} min"


@contextmanager
def _going_on(path: Path) -> Iterator[None]:
    """Where a sweep is ended before its end, say how to go on with it."""
    try:
        yield
    except (Interrupted, NotAllowedError):
        Console(stderr=True).print(
            f"the sweep is not finished; go on with: bench-submit sweep --resume {path}",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )
        raise


@contextmanager
def _held(path: Path) -> Iterator[None]:
    """Hold a sweep by its plan file while the block runs. Raises PlanError where another process has it."""
    with path.open("r+") as file:  # NFS locks only what is open for writing
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PlanError(f"{path}: another process is working on this sweep") from None
        yield
