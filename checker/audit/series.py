"""Series of power readings as figures and traces of a row."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rules.audit.row import Basis, Figure, Trace
from rules.bundle_format.table import Floats
from rules.metrics.power.window import WindowEnergy, find_clock_shift, integrate_window

_MIN_COVERED = 0.5
"""The share of a window below which there is no energy."""


@dataclass(frozen=True)
class Series:
    """Power readings of one label."""

    label: str
    times_s: Floats
    """Unix times, or those of the log."""
    power_w: Floats
    boards: int = 0
    """How many boards the power is that of; 0 for other scopes."""

    @property
    def span(self) -> tuple[float, float]:
        """The times of the first and of the last reading."""
        return float(self.times_s.min()), float(self.times_s.max())


@dataclass(frozen=True)
class Integrated:
    """Several series over one window."""

    parts: tuple[WindowEnergy, ...]
    traces: tuple[Trace, ...]
    duration_s: float

    @property
    def energy_j(self) -> float:
        """The sum over the series."""
        return sum(part.energy_j for part in self.parts)

    @property
    def mean_power_w(self) -> float:
        """The sum of the energies over the duration."""
        return self.energy_j / self.duration_s

    @property
    def figure(self) -> Figure | None:
        """The energy with its interval, None if a series misses half of the window. The errors of
        the series are not independent, because they share load and clock, so they add."""
        if any(part.covered_share < _MIN_COVERED for part in self.parts):
            return None
        readings = sum(part.readings for part in self.parts)
        low_j = sum(part.low_j for part in self.parts)
        high_j = sum(part.high_j for part in self.parts)
        has_interval = math.isfinite(high_j)
        return Figure(
            self.energy_j,
            Basis.SAMPLES,
            f"trapezoid of {readings} readings",
            low_j if has_interval else None,
            high_j if has_interval else None,
        )


def make_series(label: str, rows: Sequence[tuple[float, float]], boards: int = 0) -> Series:
    """A series of (time in s, power in W) pairs."""
    values = np.array(rows, dtype=np.float64).reshape(-1, 2)
    return Series(label, values[:, 0], values[:, 1], boards)


def integrate(series: Sequence[Series], window: tuple[float, float] | None = None) -> Integrated:
    """The energy of each series over `window`, by default over what all of them cover. A series
    whose clock is off by a time zone is shifted. Raises ValueError for an empty series or window.
    """
    if window is None:
        spans = [item.span for item in series]
        window = max(first for first, _ in spans), min(last for _, last in spans)
    start_s, end_s = window
    parts, traces = [], []
    for item in series:
        if not len(item.times_s):
            raise ValueError(f"{item.label}: the series has no reading")
        shift_s = find_clock_shift(*item.span, start_s, end_s)
        part = integrate_window(item.times_s + shift_s, item.power_w, start_s, end_s)
        parts.append(part)
        traces.append(make_trace(item, part, shift_s))
    return Integrated(tuple(parts), tuple(traces), end_s - start_s)


def make_trace(item: Series, part: WindowEnergy, shift_s: float = 0.0) -> Trace:
    """What rules see of a series."""
    return Trace(
        label=item.label,
        readings=part.readings,
        covered_share=part.covered_share,
        largest_gap_s=part.largest_gap_s,
        missing_s=part.missing_s,
        duration_s=part.duration_s,
        mean_power_w=part.mean_power_w,
        highest_w=part.highest_w,
        zero_readings=part.zero_readings,
        boards=item.boards,
        shift_s=shift_s,
    )
