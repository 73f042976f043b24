"""The steps of `bench-submit study`: plan, preflight, session, bundle and pre-check."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from harness import interrupts
from harness.checks import TargetError, check_container
from harness.interrupts import Interrupted
from harness.power.caps.apply import applied_cap, warn_before_caps
from harness.power.caps.limits import describe_cap
from harness.power.caps.restore import RestoreError
from harness.run import command
from harness.run.plan import Machine
from harness.run.planning import describe_job
from harness.run.progress import format_minutes
from harness.run.run_directory import hold_directory
from harness.run.session import RunFailed
from harness.run.workers.launch import make_environment
from harness.slurm.energy import open_account
from harness.studies.boards.board_run import AnchorBatch
from harness.studies.boards.work_queue import WorkQueue, count_within_budget
from harness.studies.bundle import gather_study
from harness.studies.earlier import EarlierStudy, copy_base, find_earlier
from harness.studies.plan import METHOD, RUNNING_SUFFIX, SessionPlan, SessionRecord, StudyPlan
from harness.studies.planning import (
    StudyRequest,
    estimate_end_s,
    estimate_entry_s,
    estimate_start_s,
    hash_implementation,
    make_study_id,
)
from harness.studies.preflight import StudyPreflight
from harness.studies.progress import StudyView
from harness.studies.session import run_session
from harness.studies.state import StudyState, load_state
from harness.studies.study_directory import LOG_FILE, SessionDirectory, remove_empty_sessions
from harness.system import describe_environment, describe_node
from rules.bundle_format.study_write import write_study
from rules.finding import format_count
from rules.metrics.energy import MetricsError
from rules.studies.accuracy import AccuracyTable


def run(request: StudyRequest, resume: Path | None, out: Path) -> bool:
    """Carry out the requested study, or continue the one in `resume`, and write a bundle to `out`.
    Returns whether the pre-check finds no error.

    Raises PlanError, MeterError, RunFailed, SamplerError, OSError or Interrupted; TargetError, a
    PlanError, if `out` cannot be written.
    """
    request, earlier, out = _find_earlier(request, resume, out)
    with interrupts.raise_interrupts(), command.simulate_boards(request.run.simulate):
        checks = StudyPreflight(request, out, earlier)
        for error in checks.find_errors():
            raise error
        plan, machine, accuracies = checks.study_plan, checks.machine, checks.accuracies
        assert plan is not None and machine is not None and accuracies is not None
        if earlier is not None and earlier.is_bundle:
            plan = replace(plan, study_id=make_study_id(machine))
        directory = out / f".{plan.study_id}{RUNNING_SUFFIX}"
        _make_directory(directory, plan, earlier, out)
        return carry_out(plan, machine, directory, accuracies, request.budget_s)


def check(request: StudyRequest, resume: Path | None, out: Path) -> None:
    """Make all checks of the requested study, print their results, the entries to measure and the
    expected time, and measure nothing. If some fail, raises an error of the type of the first."""
    request, earlier, out = _find_earlier(request, resume, out)
    with interrupts.raise_interrupts(), command.simulate_boards(request.run.simulate):
        checks = StudyPreflight(request, out, earlier)
        errors = command.print_checks(checks)
        if checks.study_plan is not None and checks.machine is not None:
            for line in describe_plan(checks.study_plan, checks.machine, earlier, request.budget_s):
                command.print_line(line)
        if errors:
            raise command.summarize_failures(errors, "study")
        command.print_line("the study can start; run it without --dry-run")


def _find_earlier(
    request: StudyRequest, resume: Path | None, out: Path
) -> tuple[StudyRequest, EarlierStudy | None, Path]:
    """Return the request completed by the study that it continues, that study, and the directory
    of the bundle: an unfinished study stays where it is."""
    if resume is None:
        return request, None, out
    earlier = find_earlier(resume)
    request = replace(request, run=earlier.complete_request(request.run))
    return request, earlier, out if earlier.is_bundle else earlier.path.parent


def describe_plan(
    plan: StudyPlan, machine: Machine, earlier: EarlierStudy | None, budget_s: float | None
) -> Iterator[str]:
    """Yield lines that describe what the session is expected to measure, and how long it takes."""
    work = plan.session_work
    remaining = list(work) if earlier is None else earlier.state.list_remaining(work)
    entry_s = _estimate_entry_s(plan, None if earlier is None else earlier.state)
    start_s, end_s = estimate_start_s(plan.settings), estimate_end_s(plan.settings)
    boards = len(machine.devices)
    entries = remaining
    if budget_s is not None:
        count = count_within_budget(len(remaining), budget_s, start_s, entry_s, end_s, boards)
        entries = remaining[:count]
    yield f"{format_count(len(entries), 'model')} to measure, in random order (seed {plan.seed}):"
    yield from (f"  {place:4d}  {entry}" for place, entry in enumerate(entries, 1))
    if excess := len(remaining) - len(entries):
        yield f"{format_count(excess, 'model')} beyond the budget, for a session with --resume"
    total_s = len(entries) * entry_s / boards
    if entries:
        total_s += start_s + end_s
    yield (
        f"expected time: {format_minutes(total_s)} on {format_count(boards, 'board')}, assuming "
        f"{entry_s:.0f} s for each entry"
    )


def _estimate_entry_s(plan: StudyPlan, state: StudyState | None) -> float:
    """About the time of an entry, as measured in the study so far, or else on an H200."""
    measured_s = None if state is None else state.estimate_entry_s()
    return estimate_entry_s(plan.settings) if measured_s is None else measured_s


def _make_directory(
    directory: Path, plan: StudyPlan, earlier: EarlierStudy | None, out: Path
) -> None:
    """Make the directory of the study, unless it exists, and write the plan into it."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TargetError(
            f"--out {out}: cannot be written ({error.strerror}); give a writable directory"
        ) from None
    if earlier is not None and earlier.is_bundle:
        copy_base(earlier.path, directory)
    # Last: a directory without a plan is not resumed.
    plan.save(directory)


def carry_out(
    plan: StudyPlan,
    machine: Machine,
    directory: Path,
    accuracies: AccuracyTable,
    budget_s: float | None,
) -> bool:
    """Measure what is left of the plan in its `directory`, write the bundle beside it, and run the
    pre-check. Returns whether the pre-check finds no error.

    Raises the errors of `run`. After an interrupt, the bundle of what is measured is written first.
    After another error the directory remains.
    """
    target = directory.parent / plan.study_id
    console = Console()
    failure: Interrupted | RestoreError | None = None
    with _print_resume_hint(directory), hold_directory(directory):
        remove_empty_sessions(directory)
        remaining = load_state(directory).list_remaining(plan.session_work)
        count = len(plan.session_work)
        with StudyView(console, directory / LOG_FILE, count - len(remaining), count) as view:
            try:
                if remaining:
                    _measure(plan, machine, directory, view, budget_s)
            except (Interrupted, RestoreError) as error:
                failure = error
        remove_empty_sessions(directory)
        state = load_state(directory)
        has_results = state.measured_count > 0 and (bool(state.sessions) or not remaining)
        if has_results:
            with interrupts.defer_signals():
                try:
                    evidence = gather_study(plan, state, directory, accuracies)
                except MetricsError as error:
                    raise RunFailed(
                        f"the study ended, but its figures cannot be computed: {error}"
                    ) from None
                write_study(evidence, target)
    # NFS may keep files that a process still has open. The bundle is complete all the same.
    shutil.rmtree(directory, ignore_errors=True)
    if not has_results:
        advice = "" if budget_s is None else "; a longer --budget holds a model after the burn-in"
        command.print_line(f"nothing was measured, so there is no bundle{advice}")
        passes = False
    else:
        left = len(state.list_remaining(plan.work))
        if left:
            command.print_line(
                f"{format_count(left, 'model')} left to measure; continue with: bench-submit study "
                f"image-inference --resume {target}"
            )
        passes = command.run_pre_check(target, console).passes
    if failure is not None:
        raise failure
    return passes


def _measure(
    plan: StudyPlan, machine: Machine, directory: Path, view: StudyView, budget_s: float | None
) -> None:
    """Measure in a new session what is left of the plan. Raises the errors of `run_session`."""
    state = load_state(directory)
    session = SessionPlan.of(plan.study_id, state.next_session, machine, describe_job())
    devices = session.devices
    environment = make_environment(session.torch_device, devices, len(devices))
    record = SessionRecord(
        session,
        describe_node(session.node_name, devices, session.installed).to_json(),
        describe_environment(session.driver, plan.source_sha256, environment),
        hash_implementation(plan.implementation),
        started_at=datetime.now(UTC),
        method=METHOD.version,
    )
    settings = plan.settings
    remaining = state.list_remaining(plan.session_work)
    view.print_line(
        f"{format_count(len(remaining), 'model')} to measure on {len(devices)} x "
        f"{devices[0].name}, {describe_cap(session.cap_w, session.found_mw)}, meter "
        f"{session.meter}; session {session.number} of {plan.study_id}"
    )
    if not (container := check_container()).ok:
        view.print_line(f"note: {container.describe()}")
    if warning := warn_before_caps(session):
        view.print_line(f"warning: {warning}")
    if record.implementation_sha256 != plan.implementation_sha256:
        view.print_line(
            f"note: {plan.implementation} has changed since the study began; the bundle states it"
        )
    view.print_line(
        f"first {settings.idle_s:g} s of idle power, {settings.burn_in_s:g} s of burn-in and the "
        f"anchor {settings.anchor.architecture}@{settings.anchor.size}"
    )
    entry_s = _estimate_entry_s(plan, state)
    work = WorkQueue(remaining, budget_s, entry_s, estimate_end_s(settings))
    anchor, batch = state.find_anchor(plan)
    session_directory = SessionDirectory.create(directory, record)
    with applied_cap(session) as ensure_watchdog, _count_energy(session_directory):
        run_session(
            plan, session_directory, work, (anchor, AnchorBatch(batch)), view, ensure_watchdog
        )


@contextmanager
def _count_energy(session_directory: SessionDirectory) -> Iterator[None]:
    """Record the energy by Slurm's accounting while the block runs, where Slurm counts it."""
    plan = session_directory.record.plan
    account = open_account(plan.job, os.environ)
    try:
        yield
    finally:
        if plan.job is not None and account is not None:
            job = replace(plan.job, energy=account.read(os.environ))
            session_directory.change(plan=replace(plan, job=job))


@contextmanager
def _print_resume_hint(directory: Path) -> Iterator[None]:
    """If a study ends without a bundle, print how to continue it."""
    try:
        yield
    except BaseException:
        Console(stderr=True).print(
            f"unfinished: {directory} (log in {LOG_FILE}); continue with: bench-submit study "
            f"image-inference --resume {directory}",
            soft_wrap=True,
            highlight=False,
            markup=False,
        )
        raise
