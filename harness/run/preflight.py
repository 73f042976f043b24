"""Checks the machine before a run, so that a run that the checker would refuse does not start."""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.power.limits import (
    ABOUT_CAPS,
    ROUNDING_MW,
    SETTABLE_STATE,
    format_limit,
    limit_to_restore,
)
from harness.power.source import CapControl, Device, MeterError, PowerSource, Readback, read_back
from harness.run.plan import Plan, PlanError
from harness.system import read_git_state
from rules.boards import find_board

MANUAL_LEVELS = ("manual", "determinism")
"""Performance levels with manually set clocks. Setting the level again does not restore them."""


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
        raise PlanError(
            f"the accelerators of a run must be of one kind, found {_list_names(selected)}"
        )
    return selected


def determine_cap(
    source: PowerSource, devices: Sequence[Device], requested_w: float | None
) -> tuple[float | None, dict[str, int] | None]:
    """Return the cap of the run in W, and the present limit of each device in mW by UUID if the run
    must change it.

    Without a requested cap, the run uses the cap in force. It is None if the meter has none. Raises
    PlanError if the devices then have different caps, or if one of them cannot be set to the
    requested cap. Raises MeterError if a device does not answer.
    """
    readbacks = {device.uuid: read_back(source, device.uuid) for device in devices}
    enforced_mw = {readback.enforced_mw for readback in readbacks.values()}
    if requested_w is None:
        if len(enforced_mw) > 1:
            caps = ", ".join(
                f"{uuid}: {format_limit(readback.enforced_mw)}"
                for uuid, readback in readbacks.items()
            )
            raise PlanError(
                f"the accelerators have different power caps ({caps}); name one with "
                f"--cap. {ABOUT_CAPS}"
            )
        cap_mw = enforced_mw.pop()
        return None if cap_mw is None else cap_mw / 1e3, None
    requested_mw = round(1e3 * requested_w)
    # In force already: a run as found needs no root and changes nothing.
    if all(mw is not None and abs(mw - requested_mw) <= ROUNDING_MW for mw in enforced_mw):
        return requested_w, None
    if not isinstance(source, CapControl):
        raise PlanError(
            f"--cap {requested_w:g}: the meter cannot set power caps, so it measures at the cap in "
            "force only; leave out --cap"
        )
    found_mw = {}
    for uuid, readback in readbacks.items():
        require_answer(source, uuid, readback)
        limit_mw = limit_to_restore(readback)
        if limit_mw is None:
            raise PlanError(f"--cap {requested_w:g}: {uuid} has no power limit; leave out --cap")
        min_mw, max_mw = readback.min_mw or 0, readback.max_mw or limit_mw
        if not min_mw <= requested_mw <= max_mw:
            raise PlanError(
                f"--cap {requested_w:g}: {uuid} can be set to {min_mw / 1e3:g} to "
                f"{max_mw / 1e3:g} W"
            )
        found_mw[uuid] = limit_mw
    return requested_w, found_mw


def require_answer(source: PowerSource, uuid: str, readback: Readback) -> None:
    """Raise MeterError if a board gives neither a power limit nor a reading. Its limits are then
    unknown."""
    # A readback without a limit alone is normal: some meters have no limits.
    if limit_to_restore(readback) is None and (status := source.read(uuid).status) != "ok":
        raise MeterError(
            f"{uuid}: the board gives no power limit, and no reading either ({status}); ask an "
            "administrator to check it"
        )


def find_states_to_change(source: PowerSource, devices: Sequence[Device]) -> dict[str, str] | None:
    """Return the present power state of each device whose state the run must change, by UUID. None
    if no state must be changed."""
    if source.state != SETTABLE_STATE or not isinstance(source, CapControl):
        return None
    states = {device.uuid: source.read(device.uuid).power_state for device in devices}
    # A board that does not tell its state may have the right one. It is left alone.
    return {
        uuid: state for uuid, state in states.items() if state not in (source.state, None)
    } or None


def find_objections(source: PowerSource, devices: Sequence[Device]) -> Iterator[str]:
    """Yield the reasons why a run on these devices would not pass the check. Each line names the
    device, what was found and what to do."""
    for device in devices:
        readback = read_back(source, device.uuid)
        for objection in _find_readback_objections(readback):
            yield f"{device.uuid}: {objection}"
        reading = source.read(device.uuid)
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


def find_remarks(plan: Plan) -> Iterator[str]:
    """Yield remarks for the submitter that do not prevent the run."""
    missing_keys = [key for key, value in plan.system.items() if not value]
    if missing_keys and plan.standing != "demo":
        yield (
            f"the description of the system lacks {', '.join(missing_keys)}; name a TOML file with "
            "--system"
        )
    # A bundle of uncommitted code cannot be reproduced from its commit.
    git = read_git_state(Path(__file__).parents[2])
    if git is not None and git["dirty"] and plan.standing != "demo":
        yield (
            "the checkout has changes that are not committed, so the check will warn (M108); "
            "commit them first"
        )
    shared_boards = {d.uuid for d in plan.devices}.intersection(
        plan.reproduces.boards if plan.reproduces else ()
    )
    if shared_boards and plan.standing != "demo":
        yield (
            f"{', '.join(sorted(shared_boards))}: the original ran on this accelerator, so the "
            "reproduction will not count (X120); choose another one with CUDA_VISIBLE_DEVICES"
        )
    name = plan.devices[0].name
    if find_board(name) is None:
        yield (
            f"{name}: the rule book has no data sheet of this board, so MFU and bounds are not "
            "computed"
        )
    if shutil.which("ssh-keygen") is None:
        yield "ssh-keygen is not installed; sign the bundle on another machine"


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
