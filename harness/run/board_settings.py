"""Which settings of the accelerators a run must change: power cap, power state and SM clock."""

import csv
from collections.abc import Sequence
from pathlib import Path

from harness.errors import MachineError, MeterError, PlanError
from harness.power.caps.limits import (
    ABOUT_CAPS,
    ROUNDING_MW,
    SETTABLE_STATE,
    format_limit,
    limit_to_restore,
)
from harness.power.source import CapControl, ClockControl, Device, PowerSource, Readback, read_back
from harness.run.plan import Plan
from rules.boards import CLOCK_TOLERANCE_MHZ
from rules.checks.caps.sm_clock_not_kept import HIGHER_SHARE


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


def check_sm_clock(
    source: PowerSource, devices: Sequence[Device], sm_clock_mhz: int | None
) -> None:
    """Raise PlanError if the SM clock of a device cannot be locked at the requested one, and
    MeterError if a device does not answer."""
    if sm_clock_mhz is None:
        return
    option = f"--sm-clock {sm_clock_mhz}"
    if not isinstance(source, ClockControl):
        raise PlanError(
            f"{option}: the meter cannot lock the SM clock; leave out --sm-clock "
            "(docs/caps.md, SM clock)"
        )
    for device in devices:
        clocks_mhz = source.list_sm_clocks(device.uuid)
        if not clocks_mhz:
            raise PlanError(f"{option}: {device.uuid} has no lock; leave out --sm-clock")
        if sm_clock_mhz not in clocks_mhz:
            nearest_mhz = sorted(clocks_mhz, key=lambda mhz: abs(mhz - sm_clock_mhz))[:2]
            raise PlanError(
                f"{option}: {device.uuid} can be locked at {len(clocks_mhz)} clocks from "
                f"{min(clocks_mhz)} to {max(clocks_mhz)} MHz, and not at this one; the nearest are "
                f"{' and '.join(str(mhz) for mhz in sorted(nearest_mhz))} MHz"
            )


def check_locked_clock(plan: Plan, samples: Path, start_ns: int, end_ns: int) -> None:
    """Raise MachineError if the file `samples` shows between two times that a board does not keep
    the SM clock at which the plan locks it. A driver can accept a lock that is not in force, and
    the check would refuse the bundle (C114)."""
    if plan.sm_clock_mhz is None:
        return
    clocks_mhz: dict[str, list[float]] = {device.uuid: [] for device in plan.devices}
    with samples.open(newline="") as file:
        for row in csv.DictReader(file):
            if start_ns <= int(row["read_ns"]) <= end_ns and row["sm_mhz"]:
                clocks_mhz[row["accelerator"]].append(float(row["sm_mhz"]))
    for uuid, board_clocks_mhz in clocks_mhz.items():
        if not board_clocks_mhz:
            continue
        higher = [mhz for mhz in board_clocks_mhz if mhz > plan.sm_clock_mhz + CLOCK_TOLERANCE_MHZ]
        share = len(higher) / len(board_clocks_mhz)
        if share > HIGHER_SHARE:
            raise MachineError(
                f"{uuid}: the SM clock was locked at {plan.sm_clock_mhz} MHz, and "
                f"{100 * share:.0f} % of the samples of epoch 0 are above it, up to "
                f"{max(higher):.0f} MHz; check that nothing else on the node sets clocks"
            )


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
