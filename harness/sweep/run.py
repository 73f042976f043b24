"""`bench-submit sweep`: plan and carry out runs of one workload over the values of one setting or
two, and resume an interrupted sweep."""

import fcntl
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from harness import interrupts
from harness.checks import Check
from harness.errors import MachineError, MeterError, NotAllowedError, PlanError
from harness.interrupts import Interrupted
from harness.power.caps.journal import BlockedError
from harness.power.caps.restore import RestoreError
from harness.power.reading_process import SamplerError
from harness.power.source import Readback, read_back
from harness.power.sources import open_source
from harness.run import command, preflight
from harness.run.board_settings import check_sm_clock, require_answer
from harness.run.cluster import ClusterError
from harness.run.outcome import Outcome
from harness.run.plan import Plan
from harness.run.progress import format_minutes
from harness.run.session import RunFailed
from harness.sweep import table as sweep_table
from harness.sweep.axis import AS_FOUND
from harness.sweep.description import describe_plan, find_remarks
from harness.sweep.finished import (
    find_bundles,
    find_finished_results,
    find_ineffective_runs,
    list_leftovers,
)
from harness.sweep.plan import (
    DEFAULT_CAPS_W,
    Entry,
    Sweep,
    hash_code,
    hash_files,
    make_sweep,
    resolve_run_request,
)
from harness.sweep.request import SweepRequest
from harness.sweep.table import print_line, print_text
from rules.bundle_format.records import Json
from rules.finding import format_count

FAILURES = (PlanError, MeterError, RunFailed, ClusterError, SamplerError, OSError)
"""The errors that end one run of a sweep."""
NOT_STARTED = (NotAllowedError, BlockedError)
"""The failures after which a run has not started."""
STOPPING = (*NOT_STARTED, RestoreError)
"""The failures after which no other run could start."""


def run(
    request: SweepRequest, out: Path, dry_run: bool, confirm: Callable[[], object] | None = None
) -> Outcome:
    """Plan a sweep and print the plan. Unless `dry_run` is set, call `confirm`, write the plan to
    `out` and make the runs. The outcome passes if no run failed.

    Raises what `confirm` raises, PlanError, MeterError, the errors in STOPPING, or Interrupted.
    """
    with command.simulate_boards(request.run_request.simulate):
        checks = SweepPreflight(request, out)
        errors = command.print_checks(checks) if dry_run else list(checks.find_errors())
        if checks.plan is not None:
            request = checks.request
            sweep = make_sweep(
                request.run_request,
                request.shuffle(),
                checks.plan,
                request.axis_names,
                request.reference,
            )
            remarks = find_remarks(sweep, checks.limits)
            for line in (*describe_plan(sweep, checks.plan), *remarks):
                print_text(line)
        # Raise before the plan is written, so that no plan is left over that cannot start.
        if errors:
            raise command.summarize_failures(errors, "sweep") if dry_run else errors[0]
        if dry_run:
            print_line("the sweep can start; run it without --dry-run")
            return Outcome(True)
        if confirm is not None:
            confirm()
        path = sweep.save(out)
        print_line(f"plan: {path}")
        return carry_out(sweep, path)


def resume(path: Path, is_verbose: bool = False) -> Outcome:
    """Resume the sweep whose plan is in the file `path`, with details of its runs also where it was
    started without. Raises the same errors as `run`."""
    sweep = Sweep.load(path)
    if is_verbose:
        sweep = replace(sweep, run_request=replace(sweep.run_request, is_verbose=True))
    # The runs of a sweep are compared with each other, so all must be of the same code.
    if (sweep.source_sha256, sweep.implementation_sha256) != hash_code(sweep.run_request):
        raise PlanError(
            f"{path}: the code has changed since the sweep was planned; restore that code, or "
            "start a new sweep"
        )
    if changed_files := [
        name
        for name, sha256 in hash_files(resolve_run_request(sweep.run_request)).items()
        if sha256 != sweep.files_sha256.get(name)
    ]:
        file = getattr(sweep.run_request, changed_files[0])
        raise PlanError(
            f"{file}: has changed since the sweep was planned; restore its content, or start a "
            "new sweep"
        )
    with command.simulate_boards(sweep.run_request.simulate):
        return carry_out(sweep, path)


class SweepPreflight(preflight.Preflight):
    """The checks before a sweep: those of its largest run, and of all its caps."""

    def __init__(self, request: SweepRequest, out: Path) -> None:
        # The largest run uses all boards of the sweep. A smaller one uses some of the same.
        super().__init__(request.largest_run, out)
        self.request = request
        """The sweep; with its caps once the boards are known."""
        self.limits: dict[str, Readback] = {}
        """The limits of the boards by UUID."""

    def check_machine(self) -> Check:
        name = preflight.choose_meter(self.run_request)
        with closing(open_source(name)) as source:
            devices = preflight.select_devices(source, self.run_request.gpus)
            self.limits = {device.uuid: read_back(source, device.uuid) for device in devices}
            for uuid, readback in self.limits.items():
                require_answer(source, uuid, readback)
            for mhz in self.request.sm_clocks_mhz:
                check_sm_clock(source, devices, mhz)
        caps_w = _select_caps(self.request.caps_w, self.limits, name)
        self.request = self.request.with_caps(caps_w)
        self.run_request = replace(self.run_request, cap_w=caps_w[0])
        return super().check_machine()

    def check_right(self) -> Check:
        in_force_w = {
            None if readback.enforced_mw is None else readback.enforced_mw / 1e3
            for readback in self.limits.values()
        }
        # Nothing has to be set, so no right to set caps is needed.
        assert self.machine is not None
        caps_w = self.request.caps_w
        if caps_w == (None,) or set(caps_w) == in_force_w:
            return super().check_right()
        preflight.require_right(self.machine.meter, "--caps", f"--caps {AS_FOUND}")
        return Check("right to set caps", True, "present")


def _select_caps(
    caps_w: tuple[float | None, ...], limits: Mapping[str, Readback], meter: str
) -> tuple[float | None, ...]:
    """Return the caps to run in W: the requested caps, or without any the caps of the protocol that
    all boards allow. Raises PlanError if a board does not allow a requested cap."""
    if caps_w == (None,):
        return caps_w
    if boards_without_limit := [
        uuid for uuid, readback in limits.items() if readback.max_mw is None
    ]:
        raise PlanError(
            f"{boards_without_limit[0]}: the meter {meter} reports no power limit of this board; "
            f"use --caps {AS_FOUND}"
        )
    if not caps_w:
        caps_w = tuple(
            cap_w
            for cap_w in DEFAULT_CAPS_W
            if all(_is_within(cap_w, readback) for readback in limits.values())
        )
        if not caps_w:
            raise PlanError(
                f"{next(iter(limits))} allows none of the caps of the protocol; give caps "
                "with --caps"
            )
    for uuid, readback in limits.items():
        if refused_caps := [
            f"{cap_w:g}"
            for cap_w in caps_w
            if cap_w is not None and not _is_within(cap_w, readback)
        ]:
            raise PlanError(
                f"--caps: {', '.join(refused_caps)} W cannot be set on {uuid}, which allows "
                f"{(readback.min_mw or 0) / 1e3:g} to {(readback.max_mw or 0) / 1e3:g} W"
            )
    return caps_w


def _is_within(cap_w: float, limits: Readback) -> bool:
    return (limits.min_mw or 0) <= cap_w * 1e3 <= (limits.max_mw or math.inf)


def carry_out(sweep: Sweep, path: Path) -> Outcome:
    """Make the runs of the sweep that are not finished, one after the other.

    Raises NotAllowedError or BlockedError if no run can start, RestoreError if a cap could not be
    restored, and Interrupted. Before that it prints the command that resumes the sweep.
    """
    out = path.parent
    outcomes: dict[int, Json | str] = {}
    # `_print_resume_hint` is outermost, so that it also sees an interrupt.
    with _print_resume_hint(path), interrupts.raise_interrupts(), _lock(path):
        outcomes.update(find_finished_results(sweep, out, sweep.entries))
        print_line(f"{len(outcomes)} of {format_count(len(sweep.entries), 'run')} finished so far")
        wall_times_s: list[float] = []
        try:
            for entry in [e for e in sweep.entries if e.place not in outcomes]:
                print_line(_describe_progress(sweep, entry, outcomes, wall_times_s))
                start_s = time.monotonic()
                _run_entry(sweep, entry, out, outcomes)
                # Failed runs count too in the estimate of the remaining time.
                wall_times_s.append(time.monotonic() - start_s)
        # Print the tables of the finished runs, which may have taken hours.
        except STOPPING:
            _conclude(sweep, out, outcomes)
            raise
        _conclude(sweep, out, outcomes)
    failures = tuple(
        f"run {place}: {outcome}"
        for place, outcome in sorted(outcomes.items())
        if isinstance(outcome, str)
    )
    run_ids = {result["run_id"] for result in _select_results(outcomes).values()}
    bundles = (path for path, result, _ in find_bundles(sweep, out) if result["run_id"] in run_ids)
    return Outcome(not failures, tuple(sorted(bundles)), failures)


def _conclude(sweep: Sweep, out: Path, outcomes: Mapping[int, Json | str]) -> None:
    """Print the tables of the runs so far, and list files that the sweep does not need."""
    sweep_table.print_tables(sweep, outcomes, find_ineffective_runs(out))
    for line in list_leftovers(sweep, out, _select_results(outcomes)):
        print_line(f"this sweep does not need, and you can remove: {line}")


def _select_results(outcomes: Mapping[int, Json | str]) -> dict[int, Json]:
    return {place: outcome for place, outcome in outcomes.items() if not isinstance(outcome, str)}


def _describe_progress(
    sweep: Sweep, entry: Entry, outcomes: dict[int, Json | str], wall_times_s: Sequence[float]
) -> str:
    failed_count = sum(isinstance(o, str) for o in outcomes.values())
    remaining = len(sweep.entries) - len(outcomes)
    time_text = (
        f", {format_minutes(remaining * sum(wall_times_s) / len(wall_times_s))} left"
        if wall_times_s
        else ""
    )
    place = f"run {entry.place} of {len(sweep.entries)}: {sweep.describe(entry)}"
    return f"{place}; {len(outcomes) - failed_count} done, {failed_count} failed{time_text}"


def _run_entry(sweep: Sweep, entry: Entry, out: Path, outcomes: dict[int, Json | str]) -> None:
    """Carry out one run and record its outcome in `outcomes`: the result of its bundle, or the
    reason why it has none. Raises the errors in STOPPING."""
    failure: Exception | None = None
    reason = "its bundle does not pass the check"
    try:
        if not _resume_entry(sweep, entry, out):
            command.run(sweep.make_run_request(entry), out)
    except FAILURES as error:
        # An OSError without a path, such as that of a full disk, does not name the place.
        has_no_path = isinstance(error, OSError) and error.filename is None
        failure, reason = error, f"{out}: {error}" if has_no_path else str(error)
    if isinstance(failure, NOT_STARTED):
        raise failure
    # Look at the bundle even after a failure. It can be complete, for example if only restoring the
    # caps failed.
    results = find_finished_results(sweep, out, [entry], _select_results(outcomes))
    outcomes[entry.place] = results.get(entry.place, reason)
    if failure:
        print_line(f"run {entry.place} {'is finished, but' if results else 'failed'}: {reason}")
    if isinstance(failure, STOPPING):
        raise failure


def _resume_entry(sweep: Sweep, entry: Entry, out: Path) -> bool:
    """Resume the unfinished run of this entry that an earlier process left. Return whether such a
    run was resumed."""
    # Names begin with the time of the run, so the latest attempt comes first.
    for directory in sorted(out.glob(".*.running"), reverse=True):
        try:
            plan = Plan.load(directory)
        except PlanError:
            continue
        # Compare the whole label, because another sweep in this directory can have the same place.
        if plan.sweep == sweep.make_label(entry):
            try:
                command.resume(directory, sweep.run_request.is_verbose)
                return True
            except PlanError as error:
                print_line(f"{error}; run {entry.place} starts again from its beginning")
    return False


@contextmanager
def _print_resume_hint(path: Path) -> Iterator[None]:
    """If a sweep ends early, print the command that resumes it."""
    try:
        yield
    except (Interrupted, *STOPPING) as error:
        restore_failed = isinstance(error, RestoreError)
        state = (
            "the caps were not restored; restore them with: bench-submit restore, then"
            if restore_failed
            else "the sweep is not finished;"
        )
        Console(stderr=True).print(
            f"{state} resume it with: bench-submit sweep --resume {path}",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )
        raise


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Lock the plan file of a sweep while the block runs. Raises PlanError if another process holds
    the lock."""
    # NFS grants an exclusive lock only on a file that is open for writing.
    with path.open("r+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise MachineError(f"{path}: another process is working on this sweep") from None
        yield
