"""The steps of `bench-submit run`: plan, preflight, attempt and pre-check."""

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from checker.engine import judge
from harness import interrupts
from harness.checks import TargetError
from harness.errors import MachineError, NotAllowedError, PlanError
from harness.power.caps.apply import applied_cap
from harness.power.caps.journal import BlockedError
from harness.power.caps.limits import format_limit
from harness.power.caps.restore import RestoreError
from harness.power.sources import source_class
from harness.power.sources.simulated import SimulatedSource
from harness.run import batch_size as batchsize
from harness.run import preflight, session
from harness.run import run_directory as rundir
from harness.run.cluster import Cluster, agree_on_run_id
from harness.run.export import RunExport, parse_target
from harness.run.outcome import Outcome
from harness.run.plan import SWEEP_SUFFIX, Plan, RunRequest
from harness.run.planning import describe_job, find_implementation
from harness.run.progress import View, announce, fit_line
from harness.run.result_lines import describe_results, summarize_results
from harness.run.run_directory import RunEvents
from harness.run.workers.launch import make_worker_environment
from harness.simulation import server as simulator
from harness.system import hash_source
from rules.bundle_format.records import RESULT_FILE
from rules.finding import Severity, format_count
from rules.workloads import workloads


def run(run_request: RunRequest, out: Path) -> Outcome:
    """Carry out the requested run and write a bundle to `out`. The outcome passes if the pre-check
    finds no error.

    Raises PlanError, MeterError, RunFailed, ClusterError, SamplerError, OSError or Interrupted;
    TargetError, a PlanError, if `out` cannot be written.
    """
    with interrupts.raise_interrupts(), simulate_boards(run_request.simulate):
        plan = plan_run(run_request, out)
        cluster = None
        if plan.head is not None:
            Console(stderr=True).print(
                f"node {plan.node} of {plan.nodes}: waiting for the other nodes at {plan.head}",
                highlight=False,
            )
            cluster = Cluster(plan.nodes, plan.node, plan.head)
            environment = make_worker_environment(plan)
            plan = replace(plan, run_id=agree_on_run_id(plan, environment, cluster))
        # Nodes may share a file system, so each has a directory of its own.
        directory = out / f".{plan.run_id}.{f'{plan.node_name}.' if plan.node else ''}running"
        try:
            directory.mkdir(parents=True)
        except OSError as error:
            raise TargetError(
                f"--out {out}: cannot be written ({error.strerror}); give a writable directory"
            ) from None
        return carry_out(plan, directory, cluster)


def resume(directory: Path, is_verbose: bool = False) -> Outcome:
    """Run the unfinished run in `directory` again, with details also where it was started without.
    Raises the errors of `run`."""
    directory = directory.resolve()
    if directory.is_file():
        description = (
            f"the plan of a sweep; resume it with: bench-submit sweep --resume {directory}"
            if directory.name.endswith(SWEEP_SUFFIX)
            else "a file"
        )
        raise PlanError(
            f"{directory}: --resume takes the directory .RUN_ID.running of an unfinished "
            f"run, and this is {description}"
        )
    plan = rundir.load_unfinished_plan(directory)
    if plan.head is not None:
        raise PlanError(
            f"{directory}: a run over several nodes cannot be resumed; start it anew on all nodes"
        )
    with interrupts.raise_interrupts(), simulate_boards(_get_simulated_boards(plan.meter)):
        machine = preflight.inspect_machine(
            plan.meter, len(plan.devices), plan.cap_w, sm_clock_mhz=plan.sm_clock_mhz
        )
        if machine.devices != plan.devices:
            raise MachineError(
                f"{directory}: the run was planned for other accelerators than those found now; "
                "resume it on the same accelerators"
            )
        # The bundle states whether the run set the cap. All attempts must do the same.
        if plan.found_mw is None and machine.found_mw is not None:
            raise MachineError(
                f"{directory}: the run was planned at {plan.cap_w:g} W as found, and the limits "
                f"are others now ({_format_limits(machine.found_mw)}); set them back, or start "
                "the run anew"
            )
        if plan.found_mw is not None and machine.found_mw is None:
            raise MachineError(
                f"{directory}: the run was planned to set the cap of {plan.cap_w:g} W, which is in "
                "force already; set the limits to those before the run "
                f"({_format_limits(plan.found_mw)}), or start the run anew"
            )
        plan = replace(
            update_code_hashes(plan),
            machine=replace(
                plan.machine, found_mw=machine.found_mw, found_state=machine.found_state
            ),
            job=describe_job(),
            is_verbose=plan.is_verbose or is_verbose,
        )
        return carry_out(rundir.put_aside(directory, plan), directory)


def _format_limits(found_mw: Mapping[str, int]) -> str:
    return ", ".join(f"{uuid}: {format_limit(mw)}" for uuid, mw in found_mw.items())


def update_code_hashes(plan: Plan) -> Plan:
    """Return the plan with the hashes of the present code. Raises PlanError if the implementation
    no longer exists."""
    _, sha256 = find_implementation(
        plan.configuration.implementation, workloads()[plan.configuration.workload]
    )
    return replace(plan.with_settings(implementation_sha256=sha256), source_sha256=hash_source())


def plan_run(run_request: RunRequest, out: Path) -> Plan:
    """Plan the requested run on this machine, with its results in `out`. Raises the error of the
    first check that fails: PlanError or MeterError."""
    checks = preflight.Preflight(run_request, out)
    for error in checks.find_errors():
        raise error
    assert checks.plan is not None
    return checks.plan


def check(run_request: RunRequest, out: Path) -> Outcome:
    """Make all checks of the requested run, print their results, and run nothing. If some fail,
    raises an error of the type of the first."""
    with interrupts.raise_interrupts(), simulate_boards(run_request.simulate):
        if errors := print_checks(preflight.Preflight(run_request, out)):
            raise summarize_failures(errors, "run")
        print_line("the run can start; run it without --dry-run")
        return Outcome(True)


def print_checks(checks: preflight.Preflight) -> list[Exception]:
    """Make all checks and print their results. Returns the errors of those that failed."""
    errors = []
    for result in checks.examine():
        print_line(fit_line(str(result), Console()))
        if result.error:
            errors.append(result.error)
    return errors


def summarize_failures(errors: Sequence[Exception], what: str) -> Exception:
    """Return an error like the first of a dry run, which does not repeat the printed results."""
    count = format_count(len(errors), "check")
    return type(errors[0])(f"the {what} cannot start: {count} failed")


def print_line(text: str, console: Console | None = None) -> None:
    """Print a line as it is, however wide the terminal is."""
    (console or Console()).print(text, markup=False, highlight=False, soft_wrap=True)


def carry_out(plan: Plan, directory: Path, cluster: Cluster | None = None) -> Outcome:
    """Run the plan in its `directory`, run the pre-check on the bundle beside it, and print the
    outcome.

    In a run over several nodes only the head has a bundle.

    Raises the errors of `run`. The directory then remains, with its state.
    """
    target = directory.parent / plan.run_id
    console = Console()
    try:
        with (
            _print_resume_hint(plan, directory),
            _open_export(plan) as export,
            rundir.track_attempt(plan, directory) as events,
            View(console, directory / rundir.LOG_FILE) as view,
        ):
            announce(plan, view)
            events.start(plan)
            with applied_cap(plan) as ensure_watchdog:
                if plan.batch_search == ():
                    plan = _find_highest_batch(plan, directory, view, events, ensure_watchdog)
                session.run(plan, directory, target, view, events, cluster, ensure_watchdog, export)
    except OSError as error:
        # Writing to an open file fails without its name, on a full disk for example.
        if error.filename is None:
            error.filename = str(directory)
        raise
    # The run itself can be complete. Its bundle is judged before the error ends the command.
    except RestoreError:
        if plan.node == 0 and target.exists():
            conclude_run(target, console, plan.is_verbose)
        raise
    # NFS may keep files that a process still has open. The bundle is complete all the same.
    shutil.rmtree(directory, ignore_errors=True)
    if plan.node > 0:
        console.print(
            f"node 0 has the bundle: {plan.run_id}", markup=False, highlight=False, soft_wrap=True
        )
        return Outcome(True)
    return conclude_run(target, console, plan.is_verbose)


def conclude_run(target: Path, console: Console, is_verbose: bool) -> Outcome:
    """Print the figures of the run whose bundle is `target`, and judge it. With `is_verbose`, the
    details of both come before the three lines."""
    result = json.loads((target / RESULT_FILE).read_bytes())
    if is_verbose:
        for line in describe_results(result):
            print_line(fit_line(line, console), console)
    return run_pre_check(target, console, tuple(summarize_results(result)), is_verbose)


def run_pre_check(
    target: Path, console: Console, lines: Sequence[str] = (), is_verbose: bool = True
) -> Outcome:
    """Judge the bundle by the rules of bench-check. Print findings, `lines`, and the outcome;
    without `is_verbose` no notes, only their number."""
    findings = judge(target, signed=False).findings
    for f in findings:
        if is_verbose or f.severity != Severity.NOTE:
            finding = f"{f.severity} {f.rule} {f.file} {f.pointer}: found {f.found}, expected"
            print_line(fit_line(f"{finding} {f.expected}. {f.message}", console), console)
    place = (f"bundle: {target}",) if is_verbose else ()
    counts = Counter(f.severity for f in findings)
    for line in (*place, *lines):
        print_line(fit_line(line, console), console)
    # It ends with a command to copy.
    print_line(f"pre-check: {_describe_verdict(target, counts, is_verbose)}", console)
    return Outcome(not counts[Severity.ERROR], (target,))


def _describe_verdict(target: Path, counts: Mapping[Severity, int], is_verbose: bool) -> str:
    """How many findings of each severity there are, and what to do next."""
    others = "".join(
        f", {format_count(counts[severity], severity)}"
        for severity in (Severity.WARNING, Severity.NOTE)
        if counts[severity]
    )
    if counts[Severity.NOTE] and not is_verbose:
        others += f" (bench-check --local shows {'it' if counts[Severity.NOTE] == 1 else 'them'})"
    if errors := counts[Severity.ERROR]:
        return f"{format_count(errors, 'error')}{others}; it would be refused: {target}"
    next_step = f"bench-submit sign {target} --key KEY --principal CENTER@DOMAIN"
    return f"no errors{others}; next: {next_step}"


def _find_highest_batch(
    plan: Plan,
    directory: Path,
    view: View,
    events: RunEvents,
    ensure_watchdog: Callable[[], None],
) -> Plan:
    """Return the plan with the highest stable batch size, and save it. Raises PlanError, and what
    `ensure_watchdog` raises."""
    workload = workloads()[plan.configuration.workload]
    limit = workload.size(plan.configuration.size, plan.configuration.variant).max_batch_size * (
        len(plan.devices) if workload.mode == "inference" else 1
    )
    highest, trials = batchsize.find_highest(plan, limit, directory, view, events, ensure_watchdog)
    view.print_line(
        f"{format_count(highest, 'request')} in flight"
        if plan.configuration.requests
        else f"batch size {highest} per accelerator"
    )
    final_plan = replace(plan.with_batch(highest), batch_search=trials)
    # The workers read the plan from this directory.
    final_plan.save(directory)
    return final_plan


def _get_simulated_boards(meter: str) -> str | None:
    """Return which boards the meter simulates, such as `h200`; None for a real meter."""
    return meter.partition(":")[2] if issubclass(source_class(meter), SimulatedSource) else None


def simulate_boards(simulate: str | None) -> AbstractContextManager[object]:
    """Run a simulator of these boards while the block runs. With None there is nothing to run."""
    return nullcontext() if simulate is None else simulator.run_simulator(simulate)


def _open_export(plan: Plan) -> AbstractContextManager[RunExport | None]:
    """Export the progress of the run while the block runs, if the plan says so."""
    return nullcontext() if plan.export is None else RunExport(plan, parse_target(plan.export))


def _is_planned_by_sweep(plan: Plan, directory: Path) -> bool:
    """Whether `bench-submit sweep` carries out the run. The jobs of a batch script have no plan of
    their sweep."""
    if plan.sweep is None:
        return False
    return (directory.parent / f"{plan.sweep['id']}{SWEEP_SUFFIX}").exists()


@contextmanager
def _print_resume_hint(plan: Plan, directory: Path) -> Iterator[None]:
    """If a run does not complete, print where its directory is and how to resume it."""
    try:
        yield
    except BaseException as error:
        # A repetition would end with the same error.
        is_refused = isinstance(error, session.RunRefused | NotAllowedError | BlockedError)
        target = directory.parent / plan.run_id
        has_begun = (directory / rundir.STATE_FILE).exists()
        if plan.attempt == 1 and (is_refused or not has_begun):
            # Nothing was measured, so there is nothing to resume.
            shutil.rmtree(directory, ignore_errors=True)
            raise
        if target.exists():
            shutil.rmtree(directory, ignore_errors=True)
            hint = f"the run is complete, its bundle is {target}"
        else:
            # A sweep prints its own command to resume. A run on several nodes cannot be resumed.
            is_part = _is_planned_by_sweep(plan, directory)
            can_resume = plan.head is None and not is_part and not is_refused
            advice = (
                f"; run it again with: bench-submit run --resume {directory}" if can_resume else ""
            )
            hint = f"unfinished: {directory} (log in {rundir.LOG_FILE}){advice}"
        Console(stderr=True).print(hint, soft_wrap=True, highlight=False, markup=False)
        raise
