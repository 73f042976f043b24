"""Says what this machine can do for wattmark, what it cannot, and what to do about it."""

import importlib.util
import platform
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.power import cap_journal as journal
from harness.power.cap_watchdog import refusal
from harness.power.sources import Device, Meter, MeterError, open_meter
from harness.run.preflight import objections, watts
from harness.system import EXTRAS


@dataclass(frozen=True)
class Check:
    """One thing looked at. `ok` is None where it is merely absent and something else serves."""

    what: str
    ok: bool | None
    found: str
    advice: str = ""


def examine() -> Iterator[Check]:
    """All checks, in the order in which a submitter meets them."""
    yield Check("Python", True, platform.python_version())
    yield from _stacks()
    for name in ("nvidia", "amd", "rapl"):
        yield from _meter(name)
    yield from _limits_left()
    found = shutil.which("ssh-keygen")
    yield Check(
        "signing",
        found is not None,
        found or "no ssh-keygen",
        "" if found else "install OpenSSH's client",
    )


def _stacks() -> Iterator[Check]:
    """The stacks that are installed here: one is enough, and their pins exclude each other."""
    here = {name: importlib.util.find_spec(name) is not None for name in ("torch", *EXTRAS)}
    yield Check(
        "torch",
        here["torch"],
        "installed" if here["torch"] else "missing",
        "" if here["torch"] else "it comes with a stack",
    )
    for name, extra in EXTRAS.items():
        absent = None if any(here[other] for other in EXTRAS) else False
        advice = (
            "" if here[name] else f"in an environment of its own: pip install 'wattmark[{extra}]'"
        )
        yield Check(
            f"stack {name}",
            True if here[name] else absent,
            "installed" if here[name] else "not installed",
            advice,
        )


def _meter(name: str) -> Iterator[Check]:
    try:
        meter = open_meter(name)
    except MeterError as error:
        yield Check(f"meter {name}", None, "cannot be used", str(error))
        return
    for device in meter.devices():
        reading = meter.read(device.uuid)
        power_mw = reading.power_avg_mw if reading.power_mw is None else reading.power_mw
        cap = "no cap" if reading.cap_mw is None else f"cap {reading.cap_mw / 1e3:g} W"
        power = "-" if power_mw is None else f"{power_mw / 1e3:.0f} W"
        counter = "no energy counter" if reading.energy_mj is None else "energy counter"
        wrong = list(objections(meter, [device]))
        found = f"{device.uuid}: {device.name}, {power}, {cap}, {counter}"
        yield Check(f"meter {name}", not wrong, found, "; ".join(wrong))
    yield from _caps(name, meter, meter.devices())
    meter.close()


def _limits_left() -> Iterator[Check]:
    """Power limits that a run has set and not put back: one that lives, or one that was killed with
    its watchdog."""
    for place in journal.places():
        try:
            left = journal.Journal.at(place / journal.JOURNAL_FILE)
        except MeterError as error:
            yield Check("limits set", False, "unknown", str(error))
            continue
        if left is not None:
            boards = ", ".join(one.uuid for one in left.accelerators)
            advice = (
                "that run lives"
                if journal.is_locked(place)
                else "that run is gone: bench-submit restore"
            )
            yield Check("limits set", False, f"{left.owner}, on {boards}", advice)


def _caps(name: str, meter: Meter, devices: Sequence[Device]) -> Iterator[Check]:
    """Whether `run --cap` can set a limit, without trying to."""
    limits = {}
    for device in devices:
        state = meter.readback(device.uuid, frozenset())
        limits[
            f"{watts(state.min_mw)} to {watts(state.max_mw)}, default {watts(state.default_mw)}"
        ] = state.max_mw
    known = [told for told, max_mw in limits.items() if max_mw is not None]
    if known:
        why_not = refusal(name)
        able = (
            "may be set here"
            if why_not is None
            else "only root may set them; caps are measured as found"
        )
        yield Check(
            f"caps {name}",
            True if why_not is None else None,
            f"{'; '.join(known)}; {able}",
            why_not or "",
        )
