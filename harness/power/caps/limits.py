"""Power limits, power states and SM clocks of accelerators: how they are compared, described, and
set with a readback that verifies them."""

import time
from collections.abc import Callable, Mapping
from typing import TypeVar

from harness.errors import MeterError
from harness.power.source import CapControl, PowerSource, Readback

ABOUT_CAPS = (
    "setting a cap takes root; without it an administrator can set one before the job, in "
    "a Slurm prolog or by a narrow sudo "
    "rule (docs/caps.md has both), or by hand: nvidia-smi -i GPU -pl WATTS, amd-smi set -g "
    "GPU -o WATTS "
    "(from ROCm 7.2 on: -o ppt0 WATTS)"
)
ABOUT_CLOCKS = "locking the SM clock takes root (docs/caps.md, SM clock)"
ROUNDING_MW = 1
SETTABLE_STATE = "auto"
"""The power state that a run sets. A performance level of AMD is a setting. NVIDIA's P0 is the
state of a board under load, and NVML has no function to set it."""
SETTLE_TIMEOUT_S = 2.0
SETTLE_STEP_S = 0.02
Value = TypeVar("Value")


def limit_to_restore(readback: Readback) -> int | None:
    """The limit in mW that was requested last. The one in force can be lower, because something
    else (such as the board's management controller) limits the board too."""
    # Boards that do not tell the requested limit have only the one in force.
    return readback.enforced_mw if readback.requested_mw is None else readback.requested_mw


def format_limit(limit_mw: int | None) -> str:
    """A limit in W with its unit, or `none`."""
    return "none" if limit_mw is None else f"{limit_mw / 1e3:g} W"


def is_same_limit(first_mw: int | None, second_mw: int | None) -> bool:
    """Whether two limits are equal within ROUNDING_MW. None (no limit) equals None only."""
    if first_mw is None or second_mw is None:
        # An unknown limit is never equal to a known one.
        return first_mw is second_mw
    return abs(first_mw - second_mw) <= ROUNDING_MW


def set_cap(
    control: CapControl, uuid: str, cap_mw: int, limit_of: Callable[[Readback], int | None]
) -> None:
    """Set a limit and wait until `limit_of` a readback gives it. Raises MeterError if it does not.

    A driver can return before a readback shows the new limit, so one readback is not enough.
    """
    control.set_cap(uuid, cap_mw)
    limit_mw = _poll(
        lambda: limit_of(control.readback(uuid, frozenset())),
        lambda limit_mw: is_same_limit(limit_mw, cap_mw),
    )
    if not is_same_limit(limit_mw, cap_mw):
        raise MeterError(
            f"{uuid}: a power limit of {format_limit(cap_mw)} was asked for, and the board has "
            f"{format_limit(limit_mw)}"
        )


def set_state(source: PowerSource, control: CapControl, uuid: str, state: str) -> None:
    """Set a power state and wait until a reading shows it. Raises MeterError if it does not."""
    control.set_state(uuid, state)
    actual_state = _poll(lambda: source.read(uuid).power_state, lambda actual: actual == state)
    if actual_state != state:
        raise MeterError(
            f"{uuid}: the power state {state} was asked for, and the board has {actual_state}"
        )


def _poll(read: Callable[[], Value], is_settled: Callable[[Value], bool]) -> Value:
    """Read until the value has settled or SETTLE_TIMEOUT_S is over; the last value read."""
    deadline_s = time.monotonic() + SETTLE_TIMEOUT_S
    while not is_settled(value := read()) and time.monotonic() < deadline_s:
        time.sleep(SETTLE_STEP_S)
    return value


def describe_cap(cap_w: float | None, found_mw: Mapping[str, int] | None) -> str:
    """Return the cap of a run, and the limits of which boards it changes, as text."""
    if cap_w is None:
        return "no cap"
    if found_mw is None:
        return f"cap {cap_w:g} W as found"
    limits = ", ".join(format_limit(mw) for mw in sorted(set(found_mw.values())))
    return f"cap {cap_w:g} W, set for this run (found {limits})"


def describe_settings(
    cap_w: float | None, found_mw: Mapping[str, int] | None, sm_clock_mhz: int | None
) -> str:
    """Return the cap of a run as `describe_cap` does, and the SM clock at which it locks the
    boards."""
    clock = "" if sm_clock_mhz is None else f", SM clock locked at {sm_clock_mhz} MHz"
    return describe_cap(cap_w, found_mw) + clock
