"""What a power source and its cap control are: the interfaces that a file in
`harness/power/sources/` implements, and the values that they exchange."""

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from harness.errors import MeterError
from rules.bundle_format.records import Reading

STATE_VARIABLE = "WATTMARK_STATE"
STATE_DIRECTORY = Path("/var/lib/wattmark")
BOARD_DIRECTORY = Path("/run/wattmark")
"""Where runs register the boards whose limits they set. No variable changes it, because runs with
different state directories can set limits on the same boards."""


@dataclass(frozen=True)
class Device:
    """Constant properties of an accelerator. A property is None if the source cannot tell it."""

    uuid: str
    name: str
    vendor: str
    memory_bytes: int | None = None
    vbios: str | None = None
    pci: str | None = None
    max_power_w: float | None = None


@dataclass(frozen=True)
class Readback:
    """Settings and state of an accelerator, read outside the 100 ms sampling. A field is None if
    the source cannot tell it."""

    min_mw: int | None = None
    """The lowest and, below, the highest and the default power limit that the board accepts."""
    max_mw: int | None = None
    default_mw: int | None = None
    requested_mw: int | None = None
    """The power limit that was set last."""
    enforced_mw: int | None = None
    """The power limit in force. It can be lower than the requested one."""
    foreign_processes: int | None = None
    """Processes of other users or runs that compute on the accelerator."""
    mig: bool | None = None
    """Whether the board is partitioned (Multi-Instance GPU or AMD's compute partitions)."""
    ecc_uncorrected: int | None = None
    ecc_corrected: int | None = None
    sm_set_mhz: int | None = None
    """The application clock in force, if the board has one. `sm_default_mhz` is its default. The
    same holds for the memory clock."""
    sm_default_mhz: int | None = None
    mem_set_mhz: int | None = None
    mem_default_mhz: int | None = None
    power_mw: int | None = None
    """Power by the meter and, below, by the hwmon sensor of the same board, read directly after
    each other. Both are None if the kernel has no such sensor."""
    hwmon_mw: int | None = None


class PowerSource(ABC):
    """A source of power readings for the accelerators of a node.

    One thread of one process uses an instance. Several processes of a run open their own.
    """

    priority: ClassVar[int] = 100
    """Without `--meter`, the harness tries the sources in ascending order of this number."""
    simulated: ClassVar[bool] = False
    """Whether the readings are computed instead of measured. Such a source is never chosen without
    being named, and changing its caps needs no root."""
    torch_device: ClassVar[str] = "cpu"
    """Where a workload computes while this source measures: `cuda` (also for ROCm) or `cpu`. A full
    size run needs `cuda`, so without `--meter` only smoke runs use a source of the CPU."""
    driver: str | None = None
    """Version of the driver, for the bundle."""
    state: str | None = None
    """The power state that a run declares: `P0` on NVIDIA, `auto` on AMD, None if the accelerator
    has no power states."""

    power_reading: str | None = None
    """Which reading of the driver the samples have as power, if the driver has several, such as
    `amd-smi current_socket_power`."""

    @classmethod
    @abstractmethod
    def open(cls, argument: str) -> "PowerSource":
        """Open the source. `argument` is the text after the colon of `--meter NAME:ARGUMENT`, or
        empty. Raises MeterError if the source cannot be used on this machine."""

    @classmethod
    def journal_directory(cls) -> Path | None:
        """The directory of the cap journal for these accelerators, None if their caps cannot be
        changed."""
        return Path(os.environ.get(STATE_VARIABLE) or STATE_DIRECTORY)

    @classmethod
    def board_directory(cls) -> Path | None:
        """The directory in which all runs of the host register these boards. None if all runs on
        these boards have the same journal directory."""
        return BOARD_DIRECTORY

    @abstractmethod
    def devices(self) -> list[Device]:
        """All accelerators that the source can read, in a fixed order."""

    def hidden(self) -> list[str]:
        """The UUIDs of further accelerators of the node, which variables such as
        CUDA_VISIBLE_DEVICES hide from the run. `read` takes them too."""
        return []

    def count_installed(self) -> int:
        """How many accelerators the node has, visible or not."""
        return len(self.devices()) + len(self.hidden())

    def find_sharers(self, uuid: str) -> list[str]:
        """The UUIDs of the accelerators that share one power reading with this one; an empty UUID
        stands for one that this process cannot see."""
        return []

    @abstractmethod
    def read(self, uuid: str) -> Reading:
        """Read the accelerator `uuid` now. Never raises: a quantity that cannot be read is None,
        and the status says why."""

    def read_buffer(self, uuid: str, after_ns: int) -> list[tuple[int, int]]:
        """The power readings that the driver keeps of an accelerator, later than `after_ns`: times
        in ns of the node's monotonic clock, rising, and power in mW. Empty if it keeps none."""
        return []

    def close(self) -> None:  # noqa: B027  # most sources have nothing to release
        """Release what `open` acquired."""


class CounterApart(ABC):
    """Optional for a source whose energy counter takes milliseconds to read and everything else
    microseconds: reads the counter apart from the rest.

    Several threads call `read_counter` at the same time, each for another accelerator.
    """

    @abstractmethod
    def read_state(self, uuid: str) -> Reading:
        """As `PowerSource.read`, without the energy counter."""

    @abstractmethod
    def read_counter(self, uuid: str) -> int | None:
        """Read the energy counter in mJ now; None if the accelerator has none. Raises MeterError if
        it cannot be read."""


class SettingsReader(ABC):
    """Optional for a source: reads power limits and the state of accelerators."""

    @abstractmethod
    def readback(self, uuid: str, own_pids: frozenset[int]) -> Readback:
        """Read limits and state now. `own_pids` are the processes of the run, which do not count as
        foreign."""


class CapControl(SettingsReader):
    """Optional for a source: sets power caps and power states, and reads them back."""

    @abstractmethod
    def set_cap(self, uuid: str, cap_mw: int) -> None:
        """Request a power limit in mW. Only a readback and the load show what the board made of it.

        Raises NotAllowedError without the right to set it, MeterError if the board refuses it.
        """

    def set_state(self, uuid: str, state: str) -> None:
        """Request a power state (`PowerSource.state` is the one of the protocol). Raises as
        `set_cap` does."""
        raise MeterError(f"{uuid}: the meter cannot set a power state")


class ClockControl(ABC):
    """Optional for a source: locks the SM clock of accelerators. Drivers do not report a lock, so
    that only the clocks under load show it, and the lock before the run cannot be restored."""

    @abstractmethod
    def list_sm_clocks(self, uuid: str) -> list[int]:
        """The SM clocks in MHz to which the board can be locked, none if it has no lock. Raises
        MeterError."""

    @abstractmethod
    def lock_sm_clock(self, uuid: str, sm_mhz: int) -> None:
        """Keep the SM clock at `sm_mhz`; a power cap can still lower it. Raises as
        `CapControl.set_cap` does."""

    @abstractmethod
    def reset_sm_clock(self, uuid: str) -> None:
        """Remove the lock. Raises as `CapControl.set_cap` does."""


def read_back(source: PowerSource, uuid: str, own_pids: frozenset[int] = frozenset()) -> Readback:
    """Read limits and state of an accelerator; all None if the source cannot read them."""
    return source.readback(uuid, own_pids) if isinstance(source, SettingsReader) else Readback()


def cap_control(source: PowerSource) -> CapControl:
    """The cap control of a source. Raises MeterError if it has none."""
    if not isinstance(source, CapControl):
        raise MeterError("the meter cannot set power caps")
    return source


def clock_control(source: PowerSource) -> ClockControl:
    """The clock control of a source. Raises MeterError if it has none."""
    if not isinstance(source, ClockControl):
        raise MeterError("the meter cannot lock SM clocks")
    return source


def find_unused_boards(source: PowerSource, used_uuids: Sequence[str]) -> tuple[str, ...]:
    """The UUIDs of the accelerators of the node that a run on `used_uuids` does not use."""
    uuids = [*(device.uuid for device in source.devices()), *source.hidden()]
    return tuple(uuid for uuid in uuids if uuid not in used_uuids)
