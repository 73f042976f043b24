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
from harness.system import git_state
from rules.boards import find_board

OWN_CLOCKS = ("manual", "determinism")
"""Performance levels with clocks of their own. Setting the level again does not restore them."""


def choose(source: PowerSource, count: int, first: int = 0) -> tuple[Device, ...]:
    """`count` accelerators of the meter from the `first` on. Raises PlanError where it has
    fewer."""
    devices = source.devices()[first:]
    if len(devices) < count:
        raise PlanError(
            f"--gpus {count}: the meter sees {len(devices)} accelerator(s) only: "
            f"{_list_names(devices)}"
        )
    chosen = tuple(devices[:count])
    # A result states one board, one cap and one peak for all accelerators.
    if len({d.name for d in chosen}) > 1:
        raise PlanError(
            f"the accelerators of a run must be of one kind, found {_list_names(chosen)}"
        )
    return chosen


def cap_for(
    source: PowerSource, devices: Sequence[Device], wanted_w: float | None
) -> tuple[float | None, dict[str, int] | None]:
    """The cap to run at, in W, and what each device is found with, in mW, where that has to be
    changed for the run.

    Without a requested cap it is the cap in force, None where the meter has none. Raises PlanError
    where the devices then differ, or where one of them cannot be set to the requested cap;
    MeterError where one does not answer.
    """
    states = {d.uuid: read_back(source, d.uuid) for d in devices}
    in_force = {state.enforced_mw for state in states.values()}
    if wanted_w is None:
        if len(in_force) > 1:
            caps = ", ".join(
                f"{u}: {format_limit(state.enforced_mw)}" for u, state in states.items()
            )
            raise PlanError(
                f"the accelerators have different power caps ({caps}); name one with "
                f"--cap. {ABOUT_CAPS}"
            )
        cap_mw = in_force.pop()
        return None if cap_mw is None else cap_mw / 1e3, None
    wanted_mw = round(1e3 * wanted_w)
    # In force already: a run as found needs no root and changes nothing.
    if all(mw is not None and abs(mw - wanted_mw) <= ROUNDING_MW for mw in in_force):
        return wanted_w, None
    if not isinstance(source, CapControl):
        raise PlanError(
            f"--cap {wanted_w:g}: the meter cannot set power caps, so it measures at the cap in "
            "force only; leave out --cap"
        )
    found_mw = {}
    for uuid, state in states.items():
        must_answer(source, uuid, state)
        limit_mw = limit_to_restore(state)
        if limit_mw is None:
            raise PlanError(f"--cap {wanted_w:g}: {uuid} has no power limit; leave out --cap")
        least_mw, most_mw = state.min_mw or 0, state.max_mw or limit_mw
        if not least_mw <= wanted_mw <= most_mw:
            raise PlanError(
                f"--cap {wanted_w:g}: {uuid} can be set to {least_mw / 1e3:g} to "
                f"{most_mw / 1e3:g} W"
            )
        found_mw[uuid] = limit_mw
    return wanted_w, found_mw


def must_answer(source: PowerSource, uuid: str, state: Readback) -> None:
    """Raise MeterError if a board gives neither a readback nor a reading. Its limits are then
    unknown."""
    # An empty readback alone is normal: a meter without limits gives one.
    if state == Readback() and (status := source.read(uuid).status) != "ok":
        raise MeterError(
            f"{uuid}: the board gives no readback, and no reading either ({status}); have "
            "it looked at"
        )


def states_for(source: PowerSource, devices: Sequence[Device]) -> dict[str, str] | None:
    """The present power state of each device whose state the run must change, by UUID. None if no
    state must be changed."""
    if source.state != SETTABLE_STATE or not isinstance(source, CapControl):
        return None
    states = {d.uuid: source.read(d.uuid).power_state for d in devices}
    return {
        uuid: state for uuid, state in states.items() if state not in (source.state, None)
    } or None


def objections(source: PowerSource, devices: Sequence[Device]) -> Iterator[str]:
    """The reasons why a run on these devices would not pass the check. Each line names the device,
    what was found and what to do."""
    for device in devices:
        state = read_back(source, device.uuid)
        yield from (f"{device.uuid}: {objection}" for objection in _find_objections(state))
        reading = source.read(device.uuid)
        if source.state == SETTABLE_STATE and reading.power_state in OWN_CLOCKS:
            yield (
                f"{device.uuid}: its performance level is {reading.power_state}, with "
                "manually set clocks; set it to auto, as the protocol requires: amd-smi set -g GPU "
                "--perf-level auto"
            )
        if reading.status != "ok":
            yield (
                f"{device.uuid}: a first reading failed ({reading.status}); the meter must "
                "read every quantity it has"
            )


def remarks(plan: Plan) -> Iterator[str]:
    """Remarks for the submitter that do not stop the run."""
    missing = [key for key, value in plan.system.items() if not value]
    if missing and plan.standing != "demo":
        yield f"the system is not described: {', '.join(missing)}; name a TOML file with --system"
    git = git_state(Path(__file__).parents[2])
    if git is not None and git["dirty"] and plan.standing != "demo":
        yield (
            "the checkout has changes that are not committed, so the check will warn (M108); "
            "commit them first"
        )
    name = plan.devices[0].name
    if find_board(name) is None:
        yield (
            f"{name}: the rule book has no data sheet of this board, so MFU and bounds are left out"
        )
    if shutil.which("ssh-keygen") is None:
        yield "ssh-keygen is not installed; sign the bundle on another machine"


def _find_objections(state: Readback) -> Iterator[str]:
    if state.foreign_processes:
        yield (
            f"{state.foreign_processes} other process(es) compute on it; wait for them or "
            "choose another device"
        )
    if state.mig:
        yield (
            "MIG is on, and power is that of the whole board; have an administrator switch MIG off"
        )
    if state.ecc_uncorrected:
        yield (
            f"{state.ecc_uncorrected} uncorrected ECC error(s) since the driver was loaded; "
            "have the board looked at"
        )


def _list_names(devices: Sequence[Device]) -> str:
    return ", ".join(dict.fromkeys(d.name for d in devices)) or "none"
