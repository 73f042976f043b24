"""Checks a run and the machine before it starts, so that a run that must fail, or that the checker
would refuse, does not start."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

from harness.checks import Check, check_packages, check_plan, check_target
from harness.meter_checks import check_node_meters
from harness.power.caps.apply import explain_refusal
from harness.power.caps.journal import GRACE_S, refuse_any_limits
from harness.power.caps.lifetime import warn_of_state_directory
from harness.power.caps.limits import (
    ABOUT_CAPS,
    ABOUT_CLOCKS,
    SETTABLE_STATE,
    describe_settings,
)
from harness.power.caps.registry import refuse_foreign_limits
from harness.power.source import (
    Device,
    MeterError,
    NotAllowedError,
    PowerSource,
    Readback,
    find_unused_boards,
    read_back,
)
from harness.power.sources import measuring_meters, open_source
from harness.run.board_settings import check_sm_clock, determine_cap, find_states_to_change
from harness.run.cluster import parse_address
from harness.run.export import check_export, parse_target
from harness.run.plan import Machine, MachineError, Plan, PlanError, RunRequest
from harness.run.planning import check_options, find_workload, make_plan
from harness.simulation.board_models import parse_argument
from harness.simulation.throughput_model import find_curve, name_figures
from harness.system import hash_source, read_description
from rules.boards import expected_state
from rules.bundle_format.records import Json, Reading
from rules.workloads import Workload

MANUAL_LEVELS = ("manual", "determinism")
"""Performance levels with manually set clocks. Setting the level again does not restore them."""
FIRST_READINGS, PAUSE_S = 3, 0.2
"""How often a failing first reading is made, and the pause between two."""


def select_devices(source: PowerSource, count: int, first_index: int = 0) -> tuple[Device, ...]:
    """Return `count` accelerators of the meter from index `first_index` on. Raises PlanError if it
    has fewer, or if they are of different models."""
    devices = source.devices()[first_index:]
    if len(devices) < count:
        raise PlanError(
            f"--gpus {count}: the meter sees {len(devices)} accelerator(s) only: "
            f"{_list_names(devices)}"
        )
    selected = tuple(devices[:count])
    # A result states one board, one cap and one peak for all accelerators.
    if len({device.name for device in selected}) > 1:
        raise MachineError(
            f"the accelerators of a run must be of one kind, found {_list_names(selected)}"
        )
    return selected


def find_objections(source: PowerSource, devices: Sequence[Device]) -> Iterator[str]:
    """Yield the reasons why a run on these devices would not pass the check. Each line names the
    device, what was found and what to do."""
    visible = {device.uuid for device in source.devices()}
    for device in devices:
        for hidden in set(source.find_sharers(device.uuid)) - visible:
            yield (
                f"{device.uuid}: its power reading is that of a card of two dies, and the other "
                f"one ({hidden or 'no access'}) is not visible here; make both dies visible, and "
                "give --gpus 2 for each card"
            )
        readback = read_back(source, device.uuid)
        for objection in _find_readback_objections(readback):
            yield f"{device.uuid}: {objection}"
        reading = read_first(source, device.uuid)
        if source.state == SETTABLE_STATE and reading.power_state in MANUAL_LEVELS:
            yield (
                f"{device.uuid}: its performance level is {reading.power_state}, with manually set "
                "clocks, and the protocol requires auto; set it with: amd-smi set -g GPU "
                "--perf-level auto"
            )
        if reading.status != "ok":
            yield (
                f"{device.uuid}: a first reading failed ({reading.status}), and the meter must "
                "read every quantity that it has; bench-submit doctor shows what it reads"
            )
        elif not (reading.power_mw or reading.power_avg_mw):
            yield (
                f"{device.uuid}: the driver gives no power of {device.name}, so nothing can be "
                "measured; virtual GPUs, GPUs in WSL and some embedded ones have none: take a "
                "board that the machine has to itself"
            )


def read_first(source: PowerSource, uuid: str) -> Reading:
    """Read an accelerator as it is before a run. A reading that fails is repeated, because a driver
    can fail for a moment."""
    for _ in range(FIRST_READINGS - 1):
        if (reading := source.read(uuid)).status == "ok":
            return reading
        time.sleep(PAUSE_S)
    return source.read(uuid)


class Preflight:
    """The checks before a run, and the plan that follows from them."""

    def __init__(self, run_request: RunRequest, out: Path) -> None:
        self.run_request, self.out = run_request, out
        self.plan: Plan | None = None
        """None before the checks, and if one fails without which there is no plan."""
        self.machine: Machine | None = None
        self._workload: Workload | None = None
        self._implementation: str | None = None
        self._description: Json | None = None

    def examine(self) -> Iterator[Check]:
        """Make the checks in order. A check that needs the result of one that failed is not made,
        and says so.

        A failed check holds the error with which the run would end: PlanError or MeterError.
        """
        without_result: set[str] = set()
        for name, needed_names, make_check in self._list_checks():
            if missing := [needed for needed in needed_names if needed in without_result]:
                check: Check | None = Check(
                    name, None, f"not checked, because there is no result of {missing[0]}"
                )
            else:
                try:
                    check = make_check()
                except (PlanError, MeterError) as error:
                    check = Check(name, False, str(error), error=error)
            if check is not None:
                if not check.ok:
                    without_result.add(name)
                yield check
        if self.plan is not None:
            yield from check_plan(self.plan)

    def _list_checks(
        self,
    ) -> Iterator[tuple[str, tuple[str, ...], Callable[[], Check | None]]]:
        """The name of each check, the checks whose results it needs, and its function."""
        request = self.run_request
        yield "workload", (), self._check_workload
        yield "options", ("workload",), self._check_options
        yield "stack", ("workload",), self._check_stack
        yield "target", (), lambda: check_target(self.out)
        if (export := request.export) is not None:
            yield "export", (), lambda: check_export(parse_target(export))
        yield "system.toml", (), self._check_description
        if request.simulate is not None and request.simulates_work:
            yield "simulated figures", ("workload",), self._check_simulated_figures
        yield "meter", (), self.check_machine
        yield (
            "node meters",
            ("system.toml",),
            lambda: check_node_meters(self._description, request),
        )
        yield "right to set caps", ("meter",), self.check_right
        yield "plan", ("options", "export", "system.toml", "meter"), self._make_plan

    def find_errors(self) -> Iterator[Exception]:
        """Make the checks, and yield the errors of those that fail."""
        return (check.error for check in self.examine() if check.error)

    def _check_workload(self) -> Check:
        _check_nodes(request := self.run_request)
        self._workload = find_workload(request)
        scale = "simulated work" if request.simulates_work else f"{request.size} size"
        return Check("workload", True, f"{request.workload} {request.variant}, {scale}")

    def _check_options(self) -> Check:
        assert self._workload is not None
        self._implementation, _ = check_options(self.run_request, self._workload)
        options = ", ".join(self.run_request.options) or "none"
        return Check("options", True, f"{options}; implementation {self._implementation}")

    def _check_stack(self) -> Check:
        assert self._workload is not None
        request = self.run_request
        # torchrun starts several workers. Nodes exchange messages through torch.
        needs_torch = request.nodes > 1 or (request.gpus > 1 and self._workload.mode != "inference")
        if needs_torch and not (torch := check_packages("stack", ("torch",))).ok:
            return torch
        if request.simulates_work:
            return Check("stack", True, "none needed: the work is simulated")
        if request.implementation not in (None, self._workload.implementation):
            return Check("stack", True, "that of your own implementation, which is not known")
        return check_packages("stack", dict.fromkeys(("torch", self._workload.stack)))

    def _check_description(self) -> Check:
        self._description = read_description(self.run_request.system)
        return Check("system.toml", True, str(self.run_request.system or "none"))

    def _check_simulated_figures(self) -> Check:
        request = self.run_request
        assert self._workload is not None and request.simulate is not None
        board = parse_argument(request.simulate)[0].name
        find_curve(board, name_figures(self._workload, request.variant))
        return Check("simulated figures", True, f"{self._workload.id} on {board}")

    def check_machine(self) -> Check:
        request = self.run_request
        # All nodes see the same simulated boards, so each node takes its own part of them.
        first_index = request.node * request.gpus if request.simulate else 0
        name = choose_meter(request)
        try:
            machine = inspect_machine(
                name, request.gpus, request.cap_w, first_index, request.sm_clock_mhz
            )
        except PlanError as error:
            if request.original is None:
                raise
            # The message may name options of `run`, whose values come from the original.
            original = request.original.reference.path
            raise MachineError(f"{original} cannot be reproduced here: {error}") from None
        self.machine = machine
        boards = f"{len(machine.devices)} x {machine.devices[0].name}"
        settings = describe_settings(machine.cap_w, machine.found_mw, request.sm_clock_mhz)
        return Check("meter", True, f"{machine.meter}, {boards}, {settings}")

    def check_right(self) -> Check:
        machine = self.machine
        assert machine is not None
        if machine.found_mw is not None or machine.found_state is not None:
            require_right(machine.meter, "--cap", "--cap as-found")
        elif self.run_request.sm_clock_mhz is not None:
            require_right(machine.meter, "--sm-clock", "a run without --sm-clock", ABOUT_CLOCKS)
        else:
            return Check("right to set caps", True, "not needed: the cap stays as found")
        warning = warn_of_state_directory(machine.meter)
        advice = f"warning: {warning}" if warning else ""
        return Check("right to set caps", True, "present", advice)

    def _make_plan(self) -> None:
        assert self._implementation and self.machine and self._description is not None
        self.plan = make_plan(self.run_request, self.machine, self._description, hash_source())


def require_right(meter: str, option: str, alternative: str, about: str = ABOUT_CAPS) -> None:
    """Raise NotAllowedError if this process lacks the right to set caps or clocks, and BlockedError
    if another run has set limits on a board of the node. `alternative` to `option` needs no right.
    `about` says what takes root."""
    if reason := explain_refusal(meter, about):
        raise NotAllowedError(f"{option}: {reason}; {alternative} does not need this right")
    # Of all boards, because only one run of a state directory sets limits at a time. A watchdog may
    # still be restoring the limits of a killed run, so wait for the grace period.
    refuse_any_limits(meter, GRACE_S)


def _check_nodes(run_request: RunRequest) -> None:
    if (run_request.nodes > 1) != (run_request.head is not None):
        raise PlanError(
            "--nodes and --head: give both or neither; with several nodes, --head HOST:PORT is the "
            "address of node 0"
        )
    if run_request.head is not None:
        parse_address(run_request.head)
    if not 0 <= run_request.node < run_request.nodes:
        raise PlanError(
            f"--node {run_request.node}: the nodes are numbered 0 to {run_request.nodes - 1}"
        )


def choose_meter(run_request: RunRequest) -> str:
    """Return the name of the simulated or requested meter, otherwise of the first that can be used
    here. Only a smoke run may use a meter of the CPU. Raises MeterError if there is none."""
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
    if run_request.original is not None:
        advice = "a reproduction needs accelerators like those of the original"
    elif run_request.smoke:
        advice = "use --simulate h200, which needs no meter"
    else:
        advice = "without a GPU use --simulate h200"
    listing = "\n".join(f"  {refusal}" for refusal in refusals)
    raise MeterError(f"no meter can be used here:\n{listing}\n  {advice}")


def inspect_machine(
    name: str,
    count: int,
    cap_w: float | None,
    first_index: int = 0,
    sm_clock_mhz: int | None = None,
) -> Machine:
    """Select `count` accelerators of the meter `name` from index `first_index` on. Determine the
    cap and the settings that the run must change. The run locks the SM clocks at `sm_clock_mhz`.

    Raises PlanError if a run on them would not pass the check, MeterError if another run has set
    limits on them.
    """
    with closing(open_source(name)) as source:
        devices = select_devices(source, count, first_index)
        # Limits that a killed run left behind are not "as found".
        refuse_foreign_limits(name, [device.uuid for device in devices], GRACE_S)
        run_cap_w, found_mw = determine_cap(source, devices, cap_w)
        check_sm_clock(source, devices, sm_clock_mhz)
        _check_whole_cards(source, devices)
        if objections := list(find_objections(source, devices)):
            raise MachineError(
                "this would not pass the check:\n" + "\n".join(f"  {line}" for line in objections)
            )
        found_state = find_states_to_change(source, devices)
        return Machine(
            name,
            source.torch_device,
            source.driver,
            devices,
            expected_state(devices[0].name, source.state),
            run_cap_w,
            found_mw,
            found_state,
            unused_boards=find_unused_boards(source, [device.uuid for device in devices]),
            installed=source.count_installed(),
            power_reading=source.power_reading,
        )


def _check_whole_cards(source: PowerSource, devices: Sequence[Device]) -> None:
    """Raise MachineError if the run uses one of two visible dies that share a power reading."""
    used = {device.uuid for device in devices}
    visible = {device.uuid for device in source.devices()}
    for device in devices:
        if unused := (visible & set(source.find_sharers(device.uuid))) - used:
            raise MachineError(
                f"{device.uuid} and {', '.join(unused)} are dies of one card, which has one power "
                "reading; give --gpus 2 for each card, and both dies in ROCR_VISIBLE_DEVICES"
            )


def _find_readback_objections(readback: Readback) -> Iterator[str]:
    if readback.foreign_processes:
        yield (
            f"{readback.foreign_processes} other process(es) compute on it; wait for them or "
            "choose another device"
        )
    if readback.mig:
        yield (
            "MIG is on, and the meter reads the power of the whole board; ask an administrator to "
            "switch MIG off"
        )
    if readback.ecc_uncorrected:
        yield (
            f"{readback.ecc_uncorrected} uncorrected ECC error(s) since the driver was loaded; "
            "ask an administrator to check the board"
        )


def _list_names(devices: Sequence[Device]) -> str:
    return ", ".join(dict.fromkeys(device.name for device in devices)) or "none"
