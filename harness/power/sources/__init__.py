"""Meters: sources of power readings, one file each; they are discovered by file name.

A meter's file has one function `open_meter(argument)` that returns a `Meter` or raises
`MeterError`. A meter is used by one thread of one process. It is named as `nvidia`, `rapl` or
`simulated:h200`: the file, then its argument.
"""

import importlib
import pkgutil
from dataclasses import dataclass
from typing import Protocol, cast

from rules.bundle_format.records import Reading


class MeterError(Exception):
    """A meter cannot be used; the message says why and what to do."""


class NotAllowedError(MeterError):
    """This process may not change a setting of the accelerator; an administrator may."""


@dataclass(frozen=True)
class Device:
    """What a meter knows of an accelerator that does not change. None where it cannot tell."""

    uuid: str
    name: str
    vendor: str
    memory_bytes: int | None = None
    vbios: str | None = None
    pci: str | None = None
    max_power_w: float | None = None


@dataclass(frozen=True)
class Readback:
    """Settings and state of an accelerator, read outside the 100 ms rhythm. None where the meter
    has no such thing."""

    min_mw: int | None = None
    max_mw: int | None = None
    default_mw: int | None = None
    requested_mw: int | None = None
    enforced_mw: int | None = None
    foreign_processes: int | None = None
    mig: bool | None = None
    ecc_uncorrected: int | None = None
    ecc_corrected: int | None = None
    sm_set_mhz: int | None = None
    """The application clock in force, where the board has one; `sm_default_mhz` is its default,
    likewise for memory."""
    sm_default_mhz: int | None = None
    mem_set_mhz: int | None = None
    mem_default_mhz: int | None = None


class Meter(Protocol):
    """One source of readings for the accelerators of a node."""

    driver: str | None
    """The driver's version."""
    state: str | None
    """The power state to declare: `P0` on NVIDIA, `auto` on AMD, None where there is no such
    thing."""
    torch_device: str
    """What computes on the accelerators that it reads: `cuda` (ROCm's GPUs too) or `cpu`."""

    def devices(self) -> list[Device]:
        """All accelerators that the meter can read, in its own order."""
        ...

    def read(self, uuid: str) -> Reading:
        """One reading now. Never raises: what cannot be read is None, and the status says so."""
        ...

    def readback(self, uuid: str, own_pids: frozenset[int]) -> Readback:
        """Limits and state now; `own_pids` are the run's processes, which are not foreign."""
        ...

    def set_cap(self, uuid: str, cap_mw: int) -> None:
        """Ask the board for a power limit in mW. What came of it only a readback and the load show.

        Raises NotAllowedError without the right to, MeterError where the board has no such limit or
        refuses this one.
        """
        ...

    def set_state(self, uuid: str, state: str) -> None:
        """Ask the board for a power state (`Meter.state` names the protocol's). Raises as `set_cap`
        does."""
        ...

    def close(self) -> None: ...


def names() -> list[str]:
    """The kinds of meter there are."""
    return sorted(m.name for m in pkgutil.iter_modules(__path__))


def open_meter(name: str) -> Meter:
    """The meter called `name`. Raises MeterError where there is none of that name or it cannot be
    used here."""
    kind, _, argument = name.partition(":")
    if kind not in names():
        raise MeterError(f"there is no meter called {kind!r}; there are {', '.join(names())}")
    return cast(Meter, importlib.import_module(f"{__name__}.{kind}").open_meter(argument))
