"""The load with which a power sensor is examined: stages of pulses of known length.

The periods are no multiples of 100 ms, so that pulses pass through all phases of the refresh of a
sensor. The exception is one of the two stages of short batches, which is locked to it.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Stage:
    """Load that is on for `on_s` of each `period_s`, for `duration_s`."""

    name: str
    duration_s: float
    period_s: float
    on_s: float

    def make_pulses(self, start_ns: int) -> list[tuple[int, int]]:
        """Start and end in ns of each pulse of the stage that starts at `start_ns`."""
        if not self.on_s:
            return []
        starts_ns = [
            start_ns + round(number * self.period_s * 1e9)
            for number in range(round(self.duration_s / self.period_s))
        ]
        return [(pulse_ns, pulse_ns + round(self.on_s * 1e9)) for pulse_ns in starts_ns]


STAGES: Sequence[Stage] = (
    Stage("steady, off", 6.0, 6.0, 0.0),
    Stage("steady, on", 6.0, 6.0, 6.0),
    Stage("square wave, 2.03 s", 16.24, 2.03, 1.015),
    Stage("square wave, 0.53 s", 13.25, 0.53, 0.265),
    Stage("square wave, 0.27 s", 10.8, 0.27, 0.135),
    Stage("bursts of 50 ms", 9.92, 0.31, 0.05),
    Stage("bursts of 20 ms", 9.69, 0.19, 0.02),
    Stage("batches of 20 ms, locked", 10.0, 0.02, 0.01),
    Stage("batches of 21.3 ms", 10.011, 0.0213, 0.01065),
    Stage("steady, off again", 2.5, 2.5, 0.0),
)
"""The stages of one board, 94 s in all. The first two give the power without and with load, and the
last one lasts until averaged power has followed."""
