"""Places the clock of a node meter: compares changes of the node's power with changes of its
accelerators' power.

The time of a reading may come from a clock that is not the node's. The estimator searches the
shift for which the changes between successive readings of the meter fit best to the changes of the
accelerators' mean power over the same windows. It decides only if the shift explains a share of the
changes, and if enough of them tell it from every other shift.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rules.bundle_format.table import Floats, Ints, Mask
from rules.metrics.energy import Trace
from rules.metrics.node.traces import FeedTrace

SEARCH_S = 60.0
"""The default search range: shifts from -60 s to +60 s."""
MAX_RATIO = 0.8
"""The estimate is decided if its misfit is below this share of the misfit of all shifts that are
more than `NEIGHBOURHOOD_S` away. On simulated nodes, estimates above it were up to 83 s wrong."""
NEIGHBOURHOOD_S = 3.0
MAX_BOUND_S = 2.5
"""An estimate that may be more wrong than this is not decided. On simulated nodes, such estimates
were up to 2.2 s wrong."""
MAX_MISFIT = 0.8
"""A shift that explains less than a fifth of the changes is not decided."""
MIN_CHANGES = 30
"""The least number of changes that a shift is judged by."""

_GRID_S = 0.05
"""The step of the grid that holds the accelerators' energy."""
_LONGEST_TRACE_S = 14_400.0
"""What comes later in a trace is left out, which bounds the time that a bundle can take."""
_COARSE_S, _FINE_S = 0.5, 0.05
"""The steps of the first two searches. The third has steps of 5 ms."""
_SHORTEST_WINDOW_S = 1.0
"""Readings of faster meters are averaged to this. Readings at 10 Hz otherwise lock on the period of
a batch, 2 s to 11 s from the true offset."""
_HUBER_SCALES = 1.345
"""Where the Huber loss becomes linear, in standard deviations of the quiet changes. The usual
constant: 95 % efficiency on normal noise (Huber, *Robust Statistics*)."""
_GAINS = (0.8, 1.4)
"""How much the node's power may change per W of its accelerators, by losses of power supplies and
by fans."""
_MAX_CELLS = 500_000
"""How many pairs of a shift and a reading are compared at once, which bounds the memory."""
_LEAST_SCALE_W = 1.0
"""The scale of quiet changes that a meter without noise and with coarse steps would hide."""
_LEAST_LOSS = 1e-9
"""In place of no loss, in W² or W⁴."""
_CLEAR_STANDARD_ERRORS = 2.0
"""How many standard errors a shift must fit better than another to exclude it. On simulated nodes,
the best shift was up to 64 s wrong where it was 1.6 standard errors better, and never more than its
bound wrong above 2."""


@dataclass(frozen=True)
class MeterReadings:
    """The readings of one node on the clock that is to be placed."""

    times_ns: Ints
    """The time of each reading, shape (n,), not decreasing."""
    power_w: Floats
    """Finite powers of the node, shape (n,). Where several meters share the node, the readings of
    one, scaled to the whole."""
    averaging_s: float
    """The length of the window that a reading averages. The window ends at the reading's time."""
    stamp_resolution_s: float = 0.0


@dataclass(frozen=True)
class ClockEstimate:
    """How far a meter's clock is behind the node's clock."""

    offset_s: float
    """What to add to the times of the readings, in s."""
    bound_s: float
    """The largest error of the offset to expect: how far the nearby shifts are away that are not
    excluded, and half of the resolution of the stamps. It grows as the meter sees less of the
    changes, as with an interval that is long beside the averaging."""
    misfit: float
    """The share of the changes that the accelerators do not explain at this offset: 0 is a perfect
    fit."""
    ratio: float
    """The misfit divided by the least misfit of all shifts more than 3 s away."""
    decided: bool
    """Whether the changes exclude every other shift, and the offset is not at the edge of the
    search."""


@dataclass(frozen=True)
class _Windows:
    """The windows that readings average, in s since the start of the accelerators' trace."""

    starts_s: Floats
    ends_s: Floats
    power_w: Floats

    def at(self, rows: slice) -> "_Windows":
        return _Windows(self.starts_s[rows], self.ends_s[rows], self.power_w[rows])


@dataclass(frozen=True)
class _Fits:
    """How well m shifts fit, arrays of shape (m,), NaN where too few windows lie in the trace
    or the meter's power is constant."""

    misfits: Floats
    """The losses as shares of the losses without accelerators."""
    counts: Floats
    """How many changes carry the loss: two short pauses that a meter happened to see are few,
    however deep they are."""

    def compute_excesses(self, misfit: float) -> Floats:
        """How many standard errors each misfit is above another, shape (m,)."""
        # The logarithm of the ratio of two mean squares, each of k residuals, has the standard
        # error 2 / √k.
        ratios = self.misfits / max(misfit, _LEAST_LOSS)
        return np.log(np.maximum(ratios, _LEAST_LOSS)) * np.sqrt(self.counts) / 2


@dataclass(frozen=True)
class _Minimum:
    """A shift that fits better than its neighbours."""

    shift_s: float
    fit: _Fits
    """Its fit, m = 1."""

    @property
    def misfit(self) -> float:
        return float(self.fit.misfits[0])


def combine_feeds(traces: Sequence[FeedTrace], node_w: float) -> MeterReadings:
    """The readings of the feeds of one meter on one node together, scaled to the node's mean power
    in W. The feeds of a meter are read one after the other, so the times are those of the first."""
    first, *others = traces
    power_w = first.power_w.copy()
    for trace in others:
        times_s = first.times_s + (first.zero_ns - trace.zero_ns) / 1e9
        power_w += np.interp(times_s, trace.times_s, trace.power_w)
    share = min(1.0, float(power_w.mean()) / node_w) if node_w > 0 else 1.0
    meter = first.meter
    # The mean of the whole interval where nothing else is stated.
    averaging_ms = meter.interval_ms if meter.averaging_ms is None else meter.averaging_ms
    return MeterReadings(
        first.zero_ns + np.round(first.times_s * 1e9).astype(np.int64),
        power_w / share if share > 0 else power_w,
        averaging_ms / 1e3,
        (meter.stamp_resolution_ms or 0.0) / 1e3,
    )


def estimate_clock(
    readings: MeterReadings, traces: Sequence[Trace], search_s: float = SEARCH_S
) -> ClockEstimate | None:
    """Place the clock of a meter that reads the node of these accelerators.

    `search_s` is the largest shift that is tried in either direction. Returns None if there is no
    accelerator, or if the readings that overlap with the traces are too few. Source:
    docs/measurement.md has the errors on simulated nodes around all committed traces.
    """
    if not traces or len(readings.times_ns) <= MIN_CHANGES:
        return None
    zero_ns = min(trace.zero_ns for trace in traces)
    energy_j = _cumulate_energy(traces, zero_ns)
    windows = _build_windows(readings, zero_ns)
    if len(windows.power_w) <= MIN_CHANGES:
        return None
    coarse_s = np.arange(-search_s, search_s + _COARSE_S / 2, _COARSE_S)
    fits = _compute_fits(windows, energy_j, coarse_s)
    coarse = fits.misfits
    if not np.isfinite(coarse).any():
        return None
    minimum = _refine(windows, energy_j, coarse_s[np.nanargmin(coarse)], NEIGHBOURHOOD_S)
    rival = None
    far = np.where(np.abs(coarse_s - minimum.shift_s) > NEIGHBOURHOOD_S, coarse, np.nan)
    if np.isfinite(far).any():
        # Refined too: a narrow minimum between two coarse steps fits better than they say.
        rival = _refine(windows, energy_j, coarse_s[np.nanargmin(far)], _COARSE_S)
        minimum, rival = sorted((minimum, rival), key=lambda m: m.misfit)
    ratio = minimum.misfit / rival.misfit if rival else 1.0
    error_s = _find_error_s(windows, energy_j, minimum)
    bound_s = error_s + readings.stamp_resolution_s / 2
    is_far = np.abs(coarse_s - minimum.shift_s) > NEIGHBOURHOOD_S
    excesses = [fits.compute_excesses(minimum.misfit)[is_far]]
    excesses += [rival.fit.compute_excesses(minimum.misfit)] if rival else []
    return ClockEstimate(
        offset_s=minimum.shift_s,
        bound_s=bound_s,
        misfit=minimum.misfit,
        ratio=ratio,
        decided=ratio < MAX_RATIO
        and minimum.misfit <= MAX_MISFIT
        and bound_s <= MAX_BOUND_S
        and not (np.concatenate(excesses) <= _CLEAR_STANDARD_ERRORS).any()
        # Closer to the edge, a better shift may lie behind it.
        and abs(minimum.shift_s) <= search_s - NEIGHBOURHOOD_S,
    )


def _refine(windows: _Windows, energy_j: Floats, near_s: float, range_s: float) -> _Minimum:
    """The best shift that is at most `range_s` from a coarse one."""
    fine_s = near_s + np.arange(-range_s, range_s + _FINE_S / 2, _FINE_S)
    misfits = _compute_fits(windows, energy_j, fine_s).misfits
    # The misfit of a quiet meter has a sharp minimum, which a parabola over fine steps misses.
    shifts_s = fine_s[np.nanargmin(misfits)] + np.linspace(-_FINE_S, _FINE_S, 21)
    fits = _compute_fits(windows, energy_j, shifts_s)
    best = int(np.nanargmin(fits.misfits))
    fit = _Fits(fits.misfits[best : best + 1], fits.counts[best : best + 1])
    return _Minimum(float(shifts_s[best]), fit)


def _find_error_s(windows: _Windows, energy_j: Floats, best: _Minimum) -> float:
    """How far the farthest shift in the neighbourhood is away that the changes do not exclude."""
    distances_s = np.arange(-NEIGHBOURHOOD_S, NEIGHBOURHOOD_S + _FINE_S / 2, _FINE_S)
    fits = _compute_fits(windows, energy_j, best.shift_s + distances_s)
    is_excluded = fits.compute_excesses(best.misfit) > _CLEAR_STANDARD_ERRORS
    return float(np.abs(distances_s[~is_excluded]).max(initial=2 * _FINE_S))


def _cumulate_energy(traces: Sequence[Trace], zero_ns: int) -> Floats:
    """The energy of all accelerators in J from the start to each point of a grid of 50 ms."""
    starts_s = [(trace.zero_ns - zero_ns) / 1e9 for trace in traces]
    span_s = min(
        _LONGEST_TRACE_S,
        *(
            start_s + trace.usable_power_times_s[-1]
            for start_s, trace in zip(starts_s, traces, strict=True)
        ),
    )
    grid_s = np.arange(0.0, span_s, _GRID_S)
    power_w = np.zeros(len(grid_s))
    for start_s, trace in zip(starts_s, traces, strict=True):
        power_w += np.interp(grid_s, start_s + trace.usable_power_times_s, trace.usable_power_w)
    return np.concatenate(([0.0], np.cumsum((power_w[1:] + power_w[:-1]) / 2 * _GRID_S)))


def _build_windows(readings: MeterReadings, zero_ns: int) -> _Windows:
    """The windows of the readings, those of a meter faster than 1 s averaged to 1 s."""
    times_s = (readings.times_ns - zero_ns) / 1e9
    spacing_s = float(times_s[-1] - times_s[0]) / (len(times_s) - 1)
    averaging_s = readings.averaging_s or min(spacing_s, 0.1)
    if spacing_s >= 0.9 * _SHORTEST_WINDOW_S:
        return _Windows(times_s - averaging_s, times_s, readings.power_w)
    _, bins, counts = np.unique(
        np.floor((times_s - times_s[0]) / _SHORTEST_WINDOW_S),
        return_inverse=True,
        return_counts=True,
    )
    centres_s = np.bincount(bins, times_s) / counts - averaging_s / 2
    halves_s = (averaging_s + (counts - 1) * spacing_s) / 2
    return _Windows(
        centres_s - halves_s, centres_s + halves_s, np.bincount(bins, readings.power_w) / counts
    )


def _compute_fits(windows: _Windows, energy_j: Floats, shifts_s: Floats) -> _Fits:
    """Compare the changes of the meter with those of the accelerators at m rising shifts."""
    changes_w = np.diff(windows.power_w)
    median_w = np.median(changes_w)
    scale_w = max(_LEAST_SCALE_W, 1.4826 * float(np.median(np.abs(changes_w - median_w))))
    spacing_s = float(windows.ends_s[-1] - windows.ends_s[0]) / len(changes_w)
    span_s = (len(energy_j) - 1) * _GRID_S
    least_count = max(MIN_CHANGES, int(min(len(changes_w), span_s / spacing_s) / 2))
    # In chunks, and of each chunk the readings that it can place in the trace: a long log has many
    # readings and a wide search.
    chunks = []
    chunk = max(1, _MAX_CELLS // len(changes_w))
    for i in range(0, len(shifts_s), chunk):
        chunk_s = shifts_s[i : i + chunk]
        first = np.searchsorted(windows.ends_s, -chunk_s[-1])
        last = np.searchsorted(windows.ends_s, span_s - chunk_s[0], side="right")
        near = windows.at(slice(int(first), int(last)))
        chunks.append(_compare(near, energy_j, chunk_s, _HUBER_SCALES * scale_w, least_count))
    return _Fits(*np.concatenate(chunks, axis=1))


def _compare(
    windows: _Windows, energy_j: Floats, shifts_s: Floats, threshold_w: float, least_count: int
) -> Floats:
    """The two arrays of `_Fits` at m shifts, shape (2, m)."""
    changes_w = np.diff(windows.power_w)
    board_changes_w = np.diff(_average_over(windows, energy_j, shifts_s), axis=1)
    inside = np.isfinite(board_changes_w)
    board_changes_w = np.where(inside, board_changes_w, 0.0)
    gains = _fit_gains(changes_w, board_changes_w, inside, threshold_w)
    residuals_w = np.where(inside, changes_w - gains[:, None] * board_changes_w, 0.0)
    losses = _huber(residuals_w, threshold_w)
    sums = losses.sum(axis=1)
    counts = sums**2 / np.maximum((losses**2).sum(axis=1), _LEAST_LOSS)
    totals = (inside * _huber(changes_w, threshold_w)).sum(axis=1)
    comparable = (inside.sum(axis=1) >= least_count) & (totals > 0)
    misfits = sums / np.where(comparable, totals, 1.0)
    return np.where(comparable, (misfits, counts), np.nan)


def _fit_gains(
    changes_w: Floats, board_changes_w: Floats, inside: Mask, threshold_w: float
) -> Floats:
    """The change of the node's power per W of its accelerators at each of m shifts, shape (m,)."""
    # One step of weighted least squares from a gain of 1.
    distances = np.abs(changes_w - board_changes_w) / threshold_w
    weighted_w = board_changes_w * (inside / np.maximum(1.0, distances))
    squares = (weighted_w * board_changes_w).sum(axis=1)
    gains: Floats = (weighted_w * changes_w).sum(axis=1) / np.maximum(squares, 1e-9)
    return gains.clip(*_GAINS)


def _average_over(windows: _Windows, energy_j: Floats, shifts_s: Floats) -> Floats:
    """Mean power of the accelerators over each shifted window, shape (m, n), NaN outside."""

    def energy_at(times_s: Floats) -> Floats:
        places = (times_s + shifts_s[:, None]) / _GRID_S
        left = places.astype(np.int64).clip(0, len(energy_j) - 2)
        found = energy_j[left] + (places - left) * (energy_j[left + 1] - energy_j[left])
        return np.where((places < 0) | (places > len(energy_j) - 1), np.nan, found)

    return (energy_at(windows.ends_s) - energy_at(windows.starts_s)) / (
        windows.ends_s - windows.starts_s
    )


def _huber(residuals_w: Floats, threshold_w: float) -> Floats:
    sizes_w = np.abs(residuals_w)
    return np.where(
        sizes_w <= threshold_w, sizes_w**2 / 2, threshold_w * (sizes_w - threshold_w / 2)
    )
