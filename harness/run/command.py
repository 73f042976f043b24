"""What `bench-submit run` does, step by step: run_request, plan, preflight, attempt, pre-check."""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import asdict, replace
from pathlib import Path

from rich.console import Console

from checker.engine import judge
from checker.find import find_places
from harness import interrupts
from harness.power.cap_apply import applied_cap
from harness.power.cap_journal import (
    GRACE_S,
    JOURNAL_FILE,
    BlockedError,
    refuse_foreign_limits,
    state_directory,
)
from harness.power.cap_restore import RestoreError
from harness.power.limits import format_limit
from harness.power.rocm_devices import VISIBLE_VARIABLES
from harness.power.source import MeterError, NotAllowedError
from harness.power.sources import measuring_meters, open_source, source_class
from harness.power.sources.simulated import SimulatedSource
from harness.run import batch_size as batchsize
from harness.run import preflight, session
from harness.run import run_directory as rundir
from harness.run.cluster import Cluster, address
from harness.run.events import RunEvents
from harness.run.plan import (
    SWEEP_SUFFIX,
    Machine,
    Plan,
    PlanError,
    RunRequest,
    implementation_of,
    make_plan,
    workload_of,
)
from harness.run.progress import View, announce
from harness.sign import SigningError, check_keyring, make_signature, write_signature
from harness.simulation import server as simulator
from harness.system import describe_environment, read_description, source_hash
from rules.bundle_format.records import MANIFEST_FILE
from rules.finding import Severity
from rules.registry import is_form_finding
from rules.workloads import workloads


def run(run_request: RunRequest, out: Path) -> bool:
    """Carry out the requested run and leave a bundle in `out`; return whether the pre-check finds
    no error.

    Raises PlanError, MeterError, RunFailed, SamplerError, OSError or Interrupted.
    """
    with interrupts.raise_interrupts(), boards(run_request.simulate):
        plan = plan_for(run_request)
        cluster = None
        if plan.head is not None:
            Console(stderr=True).print(
                f"node {plan.node} of {plan.nodes}: waiting for the others at {plan.head}",
                highlight=False,
            )
            cluster = Cluster(plan.nodes, plan.node, plan.head)
            plan = replace(plan, run_id=_agree_on_run_id(plan, cluster))
        directory = out / f".{plan.run_id}.{f'{plan.node_name}.' if plan.node else ''}running"
        try:
            directory.mkdir(parents=True)
        except OSError as error:
            raise PlanError(
                f"--out {out}: cannot be written ({error.strerror}); name a directory that can"
            ) from None
        return carry_out(plan, directory, cluster)


def _agree_on_run_id(plan: Plan, cluster: Cluster) -> str:
    """The run id of all nodes, the head's. Raises PlanError where they do not plan the same run
    with the same software."""
    software = describe_environment(
        plan.driver, plan.source_sha256, session.workers_environment(plan)
    )
    for variable in VISIBLE_VARIABLES:
        # Each node has GPUs of its own, so these differ by design.
        software["variables"].pop(variable, None)
    differing = ("run_id", "devices", "system", "node", "found_mw", "found_state")
    planned = {k: v for k, v in asdict(plan).items() if k not in differing}
    answers = cluster.exchange(
        "plan",
        {
            "alike": {**planned, **software, "accelerators": [d.name for d in plan.devices]},
            "uuids": [d.uuid for d in plan.devices],
            "run_id": plan.run_id,
        },
    )
    head = answers[0]["alike"]
    for node, node_plan in enumerate(answer["alike"] for answer in answers):
        # The hash of the code comes first: other code explains most other differences.
        for key in sorted(head.keys() | node_plan.keys(), key=lambda k: k != "source_sha256"):
            if node_plan.get(key) != head.get(key):
                raise PlanError(
                    f"node {node} has {key} {node_plan.get(key)}, node 0 has {head.get(key)}; "
                    "start bench-submit with the same arguments, code and software on every node"
                )
    uuids = [uuid for answer in answers for uuid in answer["uuids"]]
    # Two harnesses on one machine can see the same GPU. Its energy would then count twice.
    if len(set(uuids)) < len(uuids):
        raise PlanError(
            "an accelerator is in the plan of two nodes; give every node its own with "
            "CUDA_VISIBLE_DEVICES, "
            "on AMD with ROCR_VISIBLE_DEVICES"
        )
    return str(answers[0]["run_id"])


def resume(directory: Path) -> bool:
    """Run again the unfinished run in `directory`; whether the pre-check found no error. Raises as
    `run` does."""
    directory = directory.resolve()
    if directory.is_file():
        kind = (
            f"the plan of a sweep: bench-submit sweep --resume {directory}"
            if directory.name.endswith(SWEEP_SUFFIX)
            else "a file"
        )
        raise PlanError(
            f"{directory}: --resume takes the directory .RUN_ID.running of an unfinished "
            f"run, and this is {kind}"
        )
    plan = rundir.unfinished(directory)
    if plan.head is not None:
        raise PlanError(
            f"{directory}: a run over several nodes is not taken up again; start it anew "
            "on all of them"
        )
    with interrupts.raise_interrupts(), boards(_simulated_boards(plan.meter)):
        now = _inspect(plan.meter, len(plan.devices), plan.cap_w)
        if now.devices != plan.devices:
            raise PlanError(
                f"{directory}: the run was planned for other accelerators than those found now"
            )
        if plan.found_mw is None and now.found_mw is not None:
            limits = _format_limits(now.found_mw)
            raise PlanError(
                f"{directory}: the run is one at {plan.cap_w:g} W as found, and now the "
                f"limits are others ({limits})"
            )
        if plan.found_mw is not None and now.found_mw is None:
            raise PlanError(
                f"{directory}: the run was planned to set the cap of {plan.cap_w:g} W, which is in "
                "force already; set the limits to those before the run "
                f"({_format_limits(plan.found_mw)}), or start the run anew"
            )
        plan = replace(with_present_code(plan), found_mw=now.found_mw, found_state=now.found_state)
        return carry_out(rundir.put_aside(directory, plan), directory)


def _format_limits(found_mw: Mapping[str, int]) -> str:
    return ", ".join(f"{uuid}: {format_limit(mw)}" for uuid, mw in found_mw.items())


def with_present_code(plan: Plan) -> Plan:
    """The plan with the hashes of the code as it is now. Raises PlanError where the implementation
    is gone."""
    _, sha256 = implementation_of(plan.implementation, workloads()[plan.workload])
    return replace(plan, source_sha256=source_hash(), implementation_sha256=sha256)


def sign(bundle: Path, key: Path, principal: str) -> list[str]:
    """Sign a bundle that is whole, as the keyring above it allows, and say what was done, line by
    line. Raises SigningError."""
    if not (bundle / MANIFEST_FILE).exists() and (
        inside := [b for b in find_places(bundle).bundles if b != bundle]
    ):
        raise SigningError(
            f"{bundle}: this is not a bundle; it holds {len(inside)}: sign each of them, "
            f"as {inside[0]}"
        )
    broken = [
        f
        for f in judge(bundle, signed=False).findings
        # The rules on form and integrity check whether the files are intact. Findings of other
        # rules do not prevent signing.
        if f.severity == Severity.ERROR and is_form_finding(f)
    ]
    if broken:
        listing = "\n".join(f"  {f.rule} {f.file} {f.pointer}: {f.found}" for f in broken)
        advice = (
            f"  bench-check --fix {bundle} makes anew what follows from the tables; the rest "
            "is to be restored, or run again"
        )
        raise SigningError(
            f"{bundle}: not signed, for its files are not those that the run "
            f"left:\n{listing}\n{advice}"
        )
    new_signature = make_signature(bundle, key, principal)
    reason = check_keyring(bundle, new_signature, principal)
    signature, replaced = write_signature(bundle, new_signature, principal)
    removed = [
        f"removed: {signature.with_name(name)}, for a bundle has one submitter" for name in replaced
    ]
    return [
        f"signed: {signature}",
        *removed,
        *([f"not compared with a keyring: {reason}"] if reason else []),
    ]


def plan_for(run_request: RunRequest) -> Plan:
    """Plan the requested run on this machine. Raises PlanError or MeterError."""
    _check_nodes(run_request)
    # Refuse an unknown workload before a meter is opened, which can take seconds or fail.
    workload_of(run_request)
    description = read_description(run_request.system)
    # All nodes see the same simulated boards, so each node takes its own part of them.
    first = run_request.node * run_request.gpus if run_request.simulate else 0
    machine = _inspect(meter_name(run_request), run_request.gpus, run_request.cap_w, first)
    return make_plan(run_request, machine, description, source_hash())


def _check_nodes(run_request: RunRequest) -> None:
    if (run_request.nodes > 1) != (run_request.head is not None):
        raise PlanError(
            "--nodes and --head belong together: a run over several nodes meets at --head "
            "HOST:PORT of node 0"
        )
    if run_request.head is not None:
        address(run_request.head)
    if not 0 <= run_request.node < run_request.nodes:
        raise PlanError(
            f"--node {run_request.node}: the nodes are numbered 0 to {run_request.nodes - 1}"
        )


def meter_name(run_request: RunRequest) -> str:
    """The meter to use: the simulated or named one, otherwise the first that can be used here. A
    meter of the CPU is chosen for smoke runs only."""
    if run_request.simulate is not None:
        return f"simulated:{run_request.simulate}"
    if run_request.meter is not None:
        return run_request.meter
    refusals = []
    for name in measuring_meters(("cuda", "cpu") if run_request.smoke else ("cuda",)):
        try:
            # Only opening shows whether the library, the driver and the right to read are there.
            open_source(name).close()
            return name
        except MeterError as error:
            refusals.append(str(error))
    advice = (
        "--simulate h200 needs none"
        if run_request.smoke
        else "without a GPU there is --smoke --simulate h200"
    )
    raise MeterError(f"no meter can be used here ({'; '.join(refusals)}); {advice}")


def _inspect(name: str, count: int, cap_w: float | None, first: int = 0) -> Machine:
    """The accelerators of the meter `name` to use, the cap to run at, and what has to be changed on
    them for it.

    Raises PlanError where a run on them would not pass, MeterError where another run's limits are
    on them.
    """
    with closing(open_source(name)) as source:
        devices = preflight.choose(source, count, first)
        # Limits that a killed run left behind are not "as found".
        if (directory := state_directory(name)) is not None:
            refuse_foreign_limits(directory / JOURNAL_FILE, {d.uuid for d in devices}, GRACE_S)
        run_w, found_mw = preflight.cap_for(source, devices, cap_w)
        if wrong := list(preflight.objections(source, devices)):
            raise PlanError(
                "this would not pass the check:\n" + "\n".join(f"  {line}" for line in wrong)
            )
        found_state = preflight.states_for(source, devices)
        return Machine(
            name,
            source.torch_device,
            source.driver,
            devices,
            source.state,
            run_w,
            found_mw,
            found_state,
        )


def carry_out(plan: Plan, directory: Path, cluster: Cluster | None = None) -> bool:
    """Run the plan in its `directory`, judge the bundle beside it as bench-check will, and say how
    it came out.

    Of several nodes the head alone has a bundle to judge.

    Raises as `run` does; the directory then stays, with its state.
    """
    target = directory.parent / plan.run_id
    console = Console()
    try:
        with (
            _print_resume_hint(plan, directory),
            rundir.attempt(plan, directory) as events,
            View(console, directory / rundir.LOG_FILE) as view,
        ):
            announce(plan, view)
            events.start(plan)
            with applied_cap(plan) as guard:
                if plan.batch_search == ():
                    plan = _find_highest_batch(plan, directory, view, events)
                session.run(plan, directory, target, view, events, cluster, guard)
    # The run itself can be complete. Its bundle is judged before the error ends the command.
    except RestoreError:
        if plan.node == 0 and target.exists():
            _pre_check(target, console)
        raise
    # NFS may keep files that a process still has open. The bundle is complete all the same.
    shutil.rmtree(directory, ignore_errors=True)
    if plan.node > 0:
        console.print(
            f"node 0 has the bundle: {plan.run_id}", markup=False, highlight=False, soft_wrap=True
        )
        return True
    return _pre_check(target, console)


def _pre_check(target: Path, console: Console) -> bool:
    """Judge a bundle as bench-check will, and say how it came out; whether it has no error."""
    findings = judge(target, signed=False).findings
    errors = sum(f.severity == Severity.ERROR for f in findings)
    lines = [
        f"{f.severity} {f.rule} {f.file} {f.pointer}: found {f.found}, expected "
        f"{f.expected}. {f.message}"
        for f in findings
    ]
    outcome = f"{errors} error(s); it would be refused" if errors else "no errors; sign it next"
    for line in (*lines, f"bundle: {target}", f"pre-check: {outcome}"):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    return not errors


def _find_highest_batch(plan: Plan, directory: Path, view: View, events: RunEvents) -> Plan:
    workload = workloads()[plan.workload]
    limit = workload.size(plan.size).max_batch_size * (
        len(plan.devices) if workload.mode == "inference" else 1
    )
    best, trials = batchsize.find(plan, limit, directory, view, events)
    view.say(
        f"{best} requests in flight" if plan.requests else f"batch size {best} per accelerator"
    )
    best_plan = replace(plan.with_batch(best), batch_search=trials)
    # The workers read the plan from this directory.
    best_plan.save(directory)
    return best_plan


def _simulated_boards(meter: str) -> str | None:
    """Which boards are simulated; None where the meter is a real one."""
    return meter.partition(":")[2] if issubclass(source_class(meter), SimulatedSource) else None


def boards(simulate: str | None) -> AbstractContextManager[object]:
    """The simulated accelerators for the block, where there are any."""
    return nullcontext() if simulate is None else simulator.running(simulate)


@contextmanager
def _print_resume_hint(plan: Plan, directory: Path) -> Iterator[None]:
    """If a run does not complete, print where its directory is and how to resume it."""
    try:
        yield
    except BaseException as error:
        refused = isinstance(error, session.RunRefused | NotAllowedError | BlockedError)
        target = directory.parent / plan.run_id
        begun = (directory / rundir.STATE_FILE).exists()
        if plan.attempt == 1 and (refused or not begun):
            # Nothing was measured, so there is nothing to resume.
            shutil.rmtree(directory, ignore_errors=True)
            raise
        if target.exists():
            shutil.rmtree(directory, ignore_errors=True)
            hint = f"the run itself ended well: {target}"
        else:
            # A sweep prints its own command to resume. A run on several nodes cannot be resumed.
            alone = plan.head is None and plan.sweep is None
            again = (
                f"; run it again with: bench-submit run --resume {directory}"
                if alone and not refused
                else ""
            )
            hint = f"unfinished: {directory} (log in {rundir.LOG_FILE}){again}"
        Console(stderr=True).print(hint, soft_wrap=True, highlight=False, markup=False)
        raise
