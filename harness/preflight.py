"""Refuses early what would be refused later: looks at the machine before a run and says what is wrong with it."""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.meters import Device, Meter, Readback
from harness.plan import Plan, PlanError
from harness.system import git_state
from rules.boards import board

ABOUT_CAPS = (
    "this version measures at the cap it finds; an administrator can set one first, on NVIDIA with "
    "`nvidia-smi -i GPU -pl WATTS` (root), for example in a Slurm prolog"
)


def choose(meter: Meter, count: int, first: int = 0) -> tuple[Device, ...]:
    """`count` accelerators of the meter from the `first` on. Raises PlanError where it has fewer."""
    devices = meter.devices()[first:]
    if len(devices) < count:
        raise PlanError(f"--gpus {count}: the meter sees {len(devices)} accelerator(s) only: {_names(devices)}")
    chosen = tuple(devices[:count])
    if len({d.name for d in chosen}) > 1:
        raise PlanError(f"the accelerators of a run must be of one kind, found {_names(chosen)}")
    return chosen


def cap_found(meter: Meter, devices: Sequence[Device], declared_w: float | None) -> float | None:
    """The power cap in force on all devices, in W; None where the meter has none.

    Raises PlanError where devices differ, or where it is not the declared one.
    """
    found = {d.uuid: meter.readback(d.uuid, frozenset()).enforced_mw for d in devices}
    if len(set(found.values())) > 1:
        told = ", ".join(f"{u}: {'none' if mw is None else f'{mw / 1e3:g} W'}" for u, mw in found.items())
        raise PlanError(f"the accelerators have different power caps ({told}); {ABOUT_CAPS}")
    cap_mw = next(iter(found.values()))
    cap_w = None if cap_mw is None else cap_mw / 1e3
    if declared_w is not None and declared_w != cap_w:
        raise PlanError(f"--cap {declared_w:g}: the cap in force is {cap_w or 'none'} W; {ABOUT_CAPS}")
    return cap_w


def objections(meter: Meter, devices: Sequence[Device]) -> Iterator[str]:
    """What makes a run on these devices pointless: each a line that names the device, what was found and what to do."""
    for device in devices:
        state = meter.readback(device.uuid, frozenset())
        yield from (f"{device.uuid}: {objection}" for objection in _of_state(state))
        reading = meter.read(device.uuid)
        if reading.status != "ok":
            yield f"{device.uuid}: a first reading failed ({reading.status}); the meter must read every quantity it has"


def remarks(plan: Plan) -> Iterator[str]:
    """What a submitter should know before the run, and what does not stop it."""
    missing = [key for key, value in plan.system.items() if not value]
    if missing and plan.standing != "demo":
        yield f"the system is not described: {', '.join(missing)}; name a TOML file with --system"
    git = git_state(Path(__file__).parent.parent)
    if git is not None and git["dirty"] and plan.standing != "demo":
        yield "the checkout has changes that are not committed, so the check will warn (M108); commit them first"
    name = plan.devices[0].name
    if board(name) is None:
        yield f"{name}: the rule book has no data sheet of this board, so MFU and bounds are left out"
    if shutil.which("ssh-keygen") is None:
        yield "ssh-keygen is not here; sign the bundle on another machine"


def _of_state(state: Readback) -> Iterator[str]:
    if state.foreign_processes:
        yield f"{state.foreign_processes} other process(es) compute on it; wait for them or choose another device"
    if state.mig:
        yield "MIG is on, and power is that of the whole board; have an administrator switch MIG off"
    if state.ecc_uncorrected:
        yield f"{state.ecc_uncorrected} uncorrected ECC error(s) since the driver was loaded; have the board looked at"


def _names(devices: Sequence[Device]) -> str:
    return ", ".join(dict.fromkeys(d.name for d in devices)) or "none"
