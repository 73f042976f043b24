"""Reads the sensors of one board as often as they can be read, while the load passes its stages."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from harness.errors import MeterError
from harness.power.source import CounterApart, PowerSource
from harness.sensor.load import Load, Pulse
from harness.sensor.stages import Stage
from rules.bundle_format.records import Reading
from rules.metrics.sensor.examination import (
    AVERAGE,
    BUFFER,
    COUNTER,
    MEMORY,
    POWER,
    QUANTITIES,
    Readings,
    StageSpan,
)
from rules.metrics.sensor.response import Pulses

PAUSE_S = 0.002
"""Between two rounds of reads."""
LEAD_NS = 50_000_000
"""How long before its first pulse the load learns of a stage."""
BUFFER_INTERVAL_NS = 1_000_000_000
"""The driver keeps the readings of 2.4 s."""
STATE_QUANTITIES = (POWER, AVERAGE, MEMORY, "sm_mhz", "slowdown")


@dataclass(frozen=True)
class Read:
    """One read of a quantity, with its start and end on the monotonic clock of the node. For a
    reading of the driver's buffer both are its own stamp."""

    quantity: str
    start_ns: int
    end_ns: int
    value: int
    """In the unit of the name: mW, mJ or MHz."""


@dataclass
class Recording:
    """All reads of one board, the pulses of the load as they were, and the times of the stages."""

    reads: list[Read] = field(default_factory=list)
    pulses: list[Pulse] = field(default_factory=list)
    stages: list[tuple[str, int, int]] = field(default_factory=list)
    """Name, start and end in ns."""

    def get_readings(self) -> dict[str, Readings]:
        """The reads of each examined quantity, in W or J and in s since the first stage."""
        readings: dict[str, Readings] = {}
        for quantity in QUANTITIES:
            reads = [read for read in self.reads if read.quantity == quantity]
            if reads:
                starts_ns, ends_ns, values = np.array(
                    [(read.start_ns, read.end_ns, read.value) for read in reads], dtype=np.int64
                ).T
                readings[quantity] = Readings(
                    (starts_ns - self.zero_ns) / 1e9, (ends_ns - self.zero_ns) / 1e9, values / 1e3
                )
        return readings

    def get_pulses(self) -> Pulses:
        """Starts and ends of the pulses in s since the first stage."""
        starts_ns, ends_ns = np.array(self.pulses, dtype=np.int64).reshape(-1, 2).T
        return (starts_ns - self.zero_ns) / 1e9, (ends_ns - self.zero_ns) / 1e9

    def get_stages(self) -> list[StageSpan]:
        """The stages in s since the first one."""
        return [
            StageSpan(name, (start_ns - self.zero_ns) / 1e9, (end_ns - self.zero_ns) / 1e9)
            for name, start_ns, end_ns in self.stages
        ]

    @property
    def zero_ns(self) -> int:
        """The start of the first stage."""
        return self.stages[0][1]


def record(
    source: PowerSource,
    uuid: str,
    load: Load,
    stages: Sequence[Stage],
    clock: Callable[[], int] = time.monotonic_ns,
    sleep: Callable[[float], None] = time.sleep,
) -> Recording:
    """Record one board through all stages. Raises MeterError if the load ends early."""
    recording = Recording()
    reader = _Reader(source, uuid, recording.reads, clock)
    for stage in stages:
        start_ns = clock() + LEAD_NS
        end_ns = start_ns + round(stage.duration_s * 1e9)
        load.play(stage.make_pulses(start_ns))
        while clock() < end_ns:
            load.advance()
            reader.read_all()
            sleep(PAUSE_S)
        recording.pulses += load.finish()
        recording.stages.append((stage.name, start_ns, end_ns))
    reader.read_buffer()
    return recording


class _Reader:
    """Reads one board and appends the reads to a list."""

    def __init__(
        self, source: PowerSource, uuid: str, reads: list[Read], clock: Callable[[], int]
    ) -> None:
        self._source, self._uuid, self._reads, self._clock = source, uuid, reads, clock
        self._buffer_after_ns = self._buffer_due_ns = clock()

    def read_all(self) -> None:
        """Read state and counter once, and the buffer if it is due."""
        source, uuid, start_ns = self._source, self._uuid, self._clock()
        if isinstance(source, CounterApart):
            self._append(STATE_QUANTITIES, source.read_state(uuid), start_ns)
            start_ns = self._clock()
            try:
                energy_mj = source.read_counter(uuid)
            except MeterError:
                energy_mj = None
            self._append((COUNTER,), Reading(energy_mj=energy_mj), start_ns)
        else:
            self._append((*STATE_QUANTITIES, COUNTER), source.read(uuid), start_ns)
        if self._clock() >= self._buffer_due_ns:
            self.read_buffer()

    def read_buffer(self) -> None:
        """Read what the driver has kept since the last call."""
        for time_ns, power_mw in self._source.read_buffer(self._uuid, self._buffer_after_ns):
            self._reads.append(Read(BUFFER, time_ns, time_ns, power_mw))
            self._buffer_after_ns = time_ns
        self._buffer_due_ns = self._clock() + BUFFER_INTERVAL_NS

    def _append(self, quantities: Sequence[str], reading: Reading, start_ns: int) -> None:
        end_ns = self._clock()
        for quantity in quantities:
            value: int | None = getattr(reading, quantity)
            if value is not None:
                self._reads.append(Read(quantity, start_ns, end_ns, value))
