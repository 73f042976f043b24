"""`bench-submit sweep`: runs of one workload over power caps, planned and written down first, taken
up again after any end."""

import fcntl
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from harness import interrupts
from harness.interrupts import Interrupted
from harness.power.cap_apply import explain_refusal
from harness.power.cap_journal import (
    GRACE_S,
    JOURNAL_FILE,
    BlockedError,
    refuse_foreign_limits,
    state_directory,
)
from harness.power.cap_restore import RestoreError
from harness.power.sampler import SamplerError
from harness.power.source import MeterError, NotAllowedError, Readback, read_back
from harness.power.sources import open_source
from harness.run import command, preflight
from harness.run.cluster import ClusterError
from harness.run.plan import Plan, PlanError, RunRequest
from harness.run.session import RunFailed
from harness.sweep import table as sweep_table
from harness.sweep.finished import finished, strays, without_effect
from harness.sweep.plan import (
    AS_FOUND,
    DEFAULT_CAPS_W,
    Entry,
    Sweep,
    code_of,
    common,
    hashes,
    parse_caps,
    parse_gpus,
    plan_of,
    shuffle_runs,
    start_s,
)
from harness.sweep.table import say
from rules.bundle_format.records import Json

FAILURES = (PlanError, MeterError, RunFailed, ClusterError, SamplerError, OSError)
"""The errors that end a run of a sweep."""
NOT_STARTED = (NotAllowedError, BlockedError)
"""The failures after which a run has not started."""
STOPPING = (*NOT_STARTED, RestoreError)
"""The failures after which no other run could start."""


def run(
    run_request: RunRequest, caps: str | None, gpus: str, repeats: int, out: Path, dry_run: bool
) -> bool:
    """Plan a sweep, show it and, without `dry_run`, write the plan to `out` and carry it out;
    whether no run failed.

    Raises PlanError, MeterError, among them those in STOPPING, or Interrupted.
    """
    counts, named = parse_gpus(gpus), None if caps is None else parse_caps(caps)
    run_request = common(run_request)
    with command.simulate_boards(run_request.simulate):
        # The largest run decides: a smaller one uses some of the same boards.
        meter, limits = _read_limits(run_request, max(counts))
        caps_w = _select_caps(named, limits, meter)
        # Refuses what every run would be refused for.
        plan = command.plan_run(replace(run_request, gpus=max(counts), cap_w=caps_w[0]))
        planned = plan_of(
            run_request, shuffle_runs(caps_w, counts, repeats, run_request.seed), plan
        )
        for line in (*announcement(planned, plan), *_find_remarks(caps_w, limits)):
            say(line)
        refusal = _find_refusal(caps_w, limits, meter)
        if dry_run:
            say(str(refusal or "nothing speaks against it; without --dry-run it starts"))
            return refusal is None
        # Refused before the plan is written, so that no plan is left that cannot start.
        if refusal:
            raise refusal
        path = planned.save(out)
        say(f"plan: {path}")
        return carry_out(planned, path)


def resume(path: Path) -> bool:
    """Go on with the sweep whose plan is in the file `path`. Raises as `run` does."""
    sweep = Sweep.load(path)
    # The runs of a sweep are compared with each other, so all must be of the same code.
    if (sweep.source_sha256, sweep.implementation_sha256) != code_of(sweep.run_request):
        raise PlanError(
            f"{path}: the code that runs has changed since; go on with that code, or start "
            "the sweep anew"
        )
    if changed := [
        name
        for name, sha256 in hashes(common(sweep.run_request)).items()
        if sha256 != sweep.files_sha256.get(name)
    ]:
        file = getattr(sweep.run_request, changed[0])
        raise PlanError(
            f"{file}: has changed since the sweep was planned; bring it back as it was, or "
            "start the sweep anew"
        )
    with command.simulate_boards(sweep.run_request.simulate):
        return carry_out(sweep, path)


def _read_limits(run_request: RunRequest, count: int) -> tuple[str, dict[str, Readback]]:
    """The name of the meter, and the limits of the `count` boards that it would have run on. Raises
    PlanError or MeterError."""
    name = command.choose_meter(run_request)
    with closing(open_source(name)) as source:
        limits = {
            d.uuid: read_back(source, d.uuid) for d in preflight.select_devices(source, count)
        }
        for uuid, readback in limits.items():
            preflight.require_answer(source, uuid, readback)
        return name, limits


def _select_caps(
    caps_w: tuple[float | None, ...] | None, limits: Mapping[str, Readback], meter: str
) -> tuple[float | None, ...]:
    """The caps to run: the named ones, or those of the protocol that the boards allow. Raises
    PlanError if a board does not allow a named cap."""
    if caps_w == (None,):
        return caps_w
    if none := [uuid for uuid, readback in limits.items() if readback.max_mw is None]:
        raise PlanError(
            f"{none[0]}: the meter {meter} has no power limit of it; the sweep can be "
            f"--caps {AS_FOUND} only"
        )
    if caps_w is None:
        caps_w = tuple(
            cap_w
            for cap_w in DEFAULT_CAPS_W
            if all(_is_within(cap_w, readback) for readback in limits.values())
        )
        if not caps_w:
            raise PlanError(
                f"{next(iter(limits))} allows none of the caps of the protocol; name some "
                "with --caps"
            )
    for uuid, readback in limits.items():
        if wrong := [
            f"{cap_w:g}"
            for cap_w in caps_w
            if cap_w is not None and not _is_within(cap_w, readback)
        ]:
            raise PlanError(
                f"--caps: {', '.join(wrong)} W cannot be set on {uuid}, which allows "
                f"{(readback.min_mw or 0) / 1e3:g} to {(readback.max_mw or 0) / 1e3:g} W"
            )
    return caps_w


def _find_refusal(
    caps_w: Sequence[float | None], limits: Mapping[str, Readback], meter: str
) -> MeterError | None:
    """Why the caps cannot be set here: this process has no right to, or another run set limits on a
    board of the node.

    None if they can be set, or if all boards already have the only requested cap.
    """
    in_force_w = {
        None if readback.enforced_mw is None else readback.enforced_mw / 1e3
        for readback in limits.values()
    }
    # Nothing has to be set, so no right to set caps is needed.
    if caps_w == (None,) or set(caps_w) == in_force_w:
        return None
    if why := explain_refusal(meter):
        return NotAllowedError(f"--caps: {why}; --caps {AS_FOUND} needs no such right")
    if (directory := state_directory(meter)) is not None:
        try:
            # Any board: only one run of a node may set limits at a time. The grace is for a
            # watchdog that may be restoring the limits of a killed run.
            refuse_foreign_limits(directory / JOURNAL_FILE, None, GRACE_S)
        except BlockedError as error:
            return error
    return None


def _find_remarks(caps_w: Sequence[float | None], limits: Mapping[str, Readback]) -> Iterator[str]:
    """Notes on what a sweep over these caps cannot show."""
    defaults_w = {
        readback.default_mw / 1e3 for readback in limits.values() if readback.default_mw is not None
    }
    if caps_w != (None,) and len(defaults_w) == 1 and not defaults_w & set(caps_w):
        yield (
            f"note: the default cap, {defaults_w.pop():g} W, is not among the caps, so nothing "
            "will be compared with it"
        )


def _is_within(cap_w: float, limits: Readback) -> bool:
    return (limits.min_mw or 0) <= cap_w * 1e3 <= (limits.max_mw or math.inf)


def announcement(sweep: Sweep, plan: Plan) -> Iterator[str]:
    """The plan for people: what runs in which order, how long it may take, and what is changed
    meanwhile."""
    run_request, entries = sweep.run_request, sweep.entries
    sets = any(e.cap_w is not None for e in entries)
    each_s = plan.epochs * plan.epoch_s + start_s(run_request)
    name = plan.devices[0].name
    yield (
        f"sweep {sweep.id}: {run_request.workload} {run_request.variant}, {plan.scale}, "
        f"on {name}, standing {plan.standing}"
    )
    yield format_count(len(entries), "run") + (
        f", {sweep.order} (seed {run_request.seed}):" if len(entries) > 1 else ":"
    )
    yield from (f"  {e.place:3d}  {e}" for e in entries)
    yield (
        f"each run warms up at its own cap: of its {plan.epochs} epochs of {plan.epoch_s:g} s "
        "the first is discarded"
    )
    yield (
        f"expected time: {format_minutes(len(entries) * each_s)}, assuming "
        f"{start_s(run_request):g} s a run to build, warm up and calibrate"
    )
    changes = (
        f"the power cap of {', '.join(d.uuid for d in plan.devices)}, set for each run and put "
        "back to what was found after it"
    )
    yield f"changed meanwhile: {changes if sets else 'nothing; the caps are taken as found'}"


def carry_out(sweep: Sweep, path: Path) -> bool:
    """Make every run of the sweep that is not finished, one after the other; whether all of them
    are finished then.

    Raises NotAllowedError or BlockedError where no run can start, RestoreError where a cap
    could not be put back, and Interrupted, having said how to go on.
    """
    out = path.parent
    outcomes: dict[int, Json | str] = {}
    # `_going_on` is outermost, so that it also sees an interrupt.
    with _print_resume_hint(path), interrupts.raise_interrupts(), _lock(path):
        outcomes.update(finished(sweep, out, sweep.entries))
        say(f"{len(outcomes)} of {format_count(len(sweep.entries), 'run')} finished so far")
        walls_s: list[float] = []
        try:
            for entry in [e for e in sweep.entries if e.place not in outcomes]:
                say(_describe_progress(sweep, entry, outcomes, walls_s))
                began_s = time.monotonic()
                _run_entry(sweep, entry, out, outcomes)
                # The times of the runs so far, failed ones too, give the estimate of what is left.
                walls_s.append(time.monotonic() - began_s)
        # Show the tables of the runs that are finished, which may have taken hours.
        except STOPPING:
            _conclude(sweep, out, outcomes)
            raise
        _conclude(sweep, out, outcomes)
    return not any(isinstance(o, str) for o in outcomes.values())


def _conclude(sweep: Sweep, out: Path, outcomes: Mapping[int, Json | str]) -> None:
    """Show the tables of the runs so far, and list files that the sweep does not need."""
    sweep_table.show(sweep, outcomes, without_effect(out))
    for line in strays(sweep, out, _select_results(outcomes)):
        say(f"not needed by this sweep, and can be removed: {line}")


def _select_results(outcomes: Mapping[int, Json | str]) -> dict[int, Json]:
    return {place: outcome for place, outcome in outcomes.items() if not isinstance(outcome, str)}


def _describe_progress(
    sweep: Sweep, entry: Entry, outcomes: dict[int, Json | str], walls_s: Sequence[float]
) -> str:
    failed = sum(isinstance(o, str) for o in outcomes.values())
    remaining = len(sweep.entries) - len(outcomes)
    time_text = (
        f", {format_minutes(remaining * sum(walls_s) / len(walls_s))} left" if walls_s else ""
    )
    place = f"run {entry.place} of {len(sweep.entries)}: {entry}"
    return f"{place}; {len(outcomes) - failed} done, {failed} failed{time_text}"


def _run_entry(sweep: Sweep, entry: Entry, out: Path, outcomes: dict[int, Json | str]) -> None:
    """Carry out one run and record its outcome: the result of its bundle, or the reason why there
    is none. Raises the errors in STOPPING."""
    failure: Exception | None = None
    reason = "its bundle does not pass the check"
    try:
        if not _resume_entry(sweep, entry, out):
            command.run(sweep.run_request_of(entry), out)
    except FAILURES as error:
        # An OSError without a file, such as a full disk, does not tell where it happened.
        nameless = isinstance(error, OSError) and error.filename is None
        failure, reason = error, f"{out}: {error}" if nameless else str(error)
    if isinstance(failure, NOT_STARTED):
        raise failure
    # Look at the bundle even after a failure: it can be complete, if only the caps were not
    # restored.
    results = finished(sweep, out, [entry], _select_results(outcomes))
    outcomes[entry.place] = results.get(entry.place, reason)
    if failure:
        say(f"run {entry.place} {'is finished, but' if results else 'failed'}: {reason}")
    if isinstance(failure, STOPPING):
        raise failure


def _resume_entry(sweep: Sweep, entry: Entry, out: Path) -> bool:
    """Resume the unfinished run of this entry that an earlier process left. Returns whether there
    was one that could be resumed."""
    # Names begin with the time of the run, so the latest attempt comes first.
    for directory in sorted(out.glob(".*.running"), reverse=True):
        try:
            plan = Plan.load(directory)
        except PlanError:
            continue
        # The whole label: another sweep in the same directory can have a run of the same place.
        if plan.sweep == sweep.label(entry):
            try:
                command.resume(directory)
                return True
            except PlanError as error:
                say(f"{error}; run {entry.place} is started anew")
    return False


def format_count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def format_minutes(seconds: float) -> str:
    """An estimated time as text, rounded to the precision of an estimate."""
    if seconds < 90:
        return f"about {max(1, round(seconds / 10)) * 10} s"
    whole = round(seconds / 60)
    return f"about {whole} min" if whole < 120 else f"about {whole // 60} h {whole % 60} min"


@contextmanager
def _print_resume_hint(path: Path) -> Iterator[None]:
    """If a sweep ends early, print the command that resumes it."""
    try:
        yield
    except (Interrupted, *STOPPING) as error:
        stuck = isinstance(error, RestoreError)
        why = (
            "the caps were not put back; do so with: bench-submit restore, then"
            if stuck
            else "the sweep is not finished;"
        )
        Console(stderr=True).print(
            f"{why} go on with: bench-submit sweep --resume {path}",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )
        raise


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Hold a sweep by its plan file while the block runs. Raises PlanError where another process
    has it."""
    # NFS grants an exclusive lock only on a file that is open for writing.
    with path.open("r+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PlanError(f"{path}: another process is working on this sweep") from None
        yield
