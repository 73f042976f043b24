"""The state of a simulated board, its work, and what its worker does."""

import random
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from harness.simulation.sensor import FilteredSensor

COUNTER_START_J = 1e6  # a real counter started when the driver was loaded, long before the run


class Work(Protocol):
    """Simulated work: throughput and power of a board at a power cap."""

    def compute_items_per_s(self, cap_w: float) -> float: ...

    def compute_power_w(self, cap_w: float) -> float: ...

    def is_capped(self, cap_w: float) -> bool:
        """Whether the cap lowers the throughput."""
        ...


class Activity(StrEnum):
    """What the worker of a board does."""

    IDLE = "idle"
    """The board has no worker, or one that has not built its model."""
    RESIDENT = "resident"
    """The model is on the board, and no batch runs."""
    COMPUTING = "computing"


@dataclass
class BoardState:
    """The variable state of a board."""

    cap_w: float
    state: str
    power_w: float
    average_w: float
    last_ns: int
    energy_j: float = COUNTER_START_J
    counter_j: float = COUNTER_START_J
    counter_ns: int = 0
    activity: Activity = Activity.IDLE
    work: Work | None = None
    work_since_ns: int | None = None
    """When simulated work began for the first time."""
    fault_percent: dict[str, float] = field(default_factory=dict)
    """For each fault that affects a share of the readings: the sum of its % since the last affected
    reading."""
    noise: random.Random = field(default_factory=random.Random)
    locked_mhz: int | None = None
    """The locked SM clock. None if the clock is not locked."""
    sensor: FilteredSensor | None = None
    """None if the readings are the power at the instant of the read."""


@dataclass(frozen=True)
class OperatingPoint:
    """The state that a board approaches at an instant."""

    power_w: float
    items_per_s: float
    slowdown: int
    """Bits of NVML."""
    load: float
    """0 to 1."""
