"""Checks that every log gets: impossible values, the order of times, powers that contradict volts
and amperes or the energy counter, gaps and repeats."""

from bisect import bisect_left

import numpy as np
from numpy.typing import NDArray

from harness.power_logs.records import (
    CURRENT,
    ENERGY,
    POWER,
    POWER_FACTOR,
    VOLTAGE,
    PowerLog,
)
from rules.bundle_format.table import Floats, Ints
from rules.metrics.energy import cumulate_interval_means, trapezoid_energies

MAX_POWER_W = 1e6
"""No node, chassis or rack draws a megawatt."""
_SENTINELS = (9.9e37, 9.91e37, 65_535.0, 65.535, 4_294_967_295.0, -1.0)
"""What meters write for "over range" and "no value": SCPI, and all ones in 16 and 32 bits."""
PRODUCT_TOLERANCE = 0.01
_MIN_SHARE_OF_LARGEST = 0.05
"""Below this share of the largest power, the rounding of volts and amperes is larger than the
tolerance."""
ENERGY_TOLERANCE = 0.02
LARGEST_STEP_J = 3.6e6
"""No energy counter of a node meter has larger steps than a kilowatt-hour."""
GAP_INTERVALS = 2.5
"""A gap is longer than this many median intervals: two readings or more are missing."""
MAX_REPEATED_SHARE = 0.25


def check(log: PowerLog) -> PowerLog:
    """Report the problems of a log, and return it without the readings that are none and without
    those out of order."""
    log = _drop_impossible(log)
    log = _drop_unordered(log)
    _check_products(log)
    _check_energy(log)
    _check_gaps(log)
    _check_repeats(log)
    return log


def find_repeated_share(log: PowerLog) -> float:
    """Share of the readings that repeat the power before, among all but the first; 0 for one
    reading."""
    return float(np.mean(np.diff(log.power_w) == 0)) if len(log) > 1 else 0.0


def integrate_power(log: PowerLog, power_w: Floats) -> float:
    """Energy in J from the first reading to the last, of a power with the times of the log."""
    times_s = (log.times_ns - log.times_ns[0]) / 1e9
    if len(log) < 2:
        return 0.0
    if log.interval_means:
        return float(cumulate_interval_means(times_s, power_w)[-1])
    return float(trapezoid_energies(times_s, power_w, times_s[:1], times_s[-1:])[0])


def _drop_impossible(log: PowerLog) -> PowerLog:
    bad = np.zeros(len(log), dtype=bool)
    for feed in log.feeds:
        power_w = log.columns[feed, POWER]
        sentinel = np.isin(power_w, _SENTINELS)
        kinds = (
            ("no-value", ~np.isfinite(power_w), "no reading"),
            ("sentinel", sentinel, "a mark of the meter for over range or no value"),
            ("negative-power", (power_w < 0) & ~sentinel, "a node does not deliver power"),
            (
                "impossible-power",
                (power_w > MAX_POWER_W) & np.isfinite(power_w) & ~sentinel,
                "more than a megawatt",
            ),
        )
        for kind, where, meaning in kinds:
            for row in np.flatnonzero(where).tolist():
                log.problems.add(
                    kind,
                    int(log.lines[row]),
                    f"{feed}: {power_w[row]:g} W, {meaning}",
                    "the reading is left out; check range, wiring and unit of the meter",
                )
            bad |= where
    return log.at(~bad)


def _drop_unordered(log: PowerLog) -> PowerLog:
    if np.all(np.diff(log.times_ns) > 0):
        return log
    kept = _find_longest_rising(log.times_ns)
    dropped = np.setdiff1d(np.arange(len(log)), kept)
    kept_times = log.times_ns[kept]
    for row in dropped.tolist():
        time_ns, line = int(log.times_ns[row]), int(log.lines[row])
        place = int(np.searchsorted(kept_times, time_ns))
        if place < len(kept) and kept_times[place] == time_ns:
            first = int(log.lines[kept[place]])
            is_same = all(c[row] == c[kept[place]] for c in log.columns.values())
            values = "the same values" if is_same else "other values"
            log.problems.add(
                "duplicate",
                line,
                f"the time of line {first} again, with {values}",
                "the reading is left out; let one logger write to the file",
            )
        else:
            before = kept[max(int(np.searchsorted(kept, row)) - 1, 0)]
            step_s, neighbour = (time_ns - int(log.times_ns[before])) / 1e9, log.lines[before]
            log.problems.add(
                "time-out-of-order",
                line,
                f"a step of {step_s:+.3f} s from the time of line {neighbour}",
                "the reading is left out; keep the clock of the logger in step, and log in UTC",
            )
    return log.at(kept)


def _find_longest_rising(times_ns: Ints) -> NDArray[np.intp]:
    """The rows of a longest sequence of readings with rising times, shape (k,). It leaves out the
    fewest readings, whether single stamps are wrong or the clock was set back."""
    smallest_ends: list[int] = []
    rows: list[int] = []
    """The last row of the sequence of each length that ends with the smallest time."""
    before = np.full(len(times_ns), -1)
    for row, time_ns in enumerate(times_ns.tolist()):
        length = bisect_left(smallest_ends, time_ns)
        if length == len(smallest_ends):
            smallest_ends.append(time_ns)
            rows.append(row)
        elif time_ns < smallest_ends[length]:  # of equal times, the first one stays
            smallest_ends[length], rows[length] = time_ns, row
        before[row] = rows[length - 1] if length else -1
    kept = [rows[-1]] if rows else []
    while kept and before[kept[-1]] >= 0:
        kept.append(int(before[kept[-1]]))
    return np.array(kept[::-1], dtype=np.intp)


def _check_products(log: PowerLog) -> None:
    """Report powers that differ from volts, amperes and power factor of the same feed."""
    for feed in log.feeds:
        parts = [log.columns.get((feed, name)) for name in (VOLTAGE, CURRENT, POWER_FACTOR)]
        power_w = log.columns[feed, POWER]
        if not len(log) or any(part is None for part in parts):
            continue
        voltage_v, current_a, power_factor = (part for part in parts if part is not None)
        # Torn digits may make a product that no double holds.
        with np.errstate(over="ignore", invalid="ignore"):
            product_w = voltage_v * current_a * np.abs(power_factor)
        # -1 stands for "not available" in each of the three. Other power factors may be negative.
        where = (voltage_v > 0) & (current_a > 0) & (power_factor != -1) & np.isfinite(product_w)
        where &= power_w >= _MIN_SHARE_OF_LARGEST * power_w.max()
        where &= ~(np.abs(power_w - product_w) <= PRODUCT_TOLERANCE * product_w)
        for row in np.flatnonzero(where).tolist():
            log.problems.add(
                "product-mismatch",
                int(log.lines[row]),
                f"{feed}: {power_w[row]:g} W, but V·I·PF is {product_w[row]:g} W",
                "the reading is used; check the wiring and the ratios of the meter",
            )


def _check_energy(log: PowerLog) -> None:
    """Report energy counters that contradict the power of the same feed, or fall."""
    for feed in log.feeds:
        if (feed, ENERGY) not in log.columns:
            continue
        counted = log.at(np.isfinite(log.columns[feed, ENERGY]))
        counter_j = counted.columns[feed, ENERGY]
        if len(counted) < 2:
            continue
        if len(falls := np.flatnonzero(np.diff(counter_j) < 0)):
            row = int(falls[0])
            log.problems.add(
                "energy-falls",
                int(counted.lines[row + 1]),
                f"{feed}: the energy falls from {counter_j[row]:g} to {counter_j[row + 1]:g} J",
                "the energy is not compared with the power; leave out the readings before, with "
                "--from",
            )
            continue
        power_j = integrate_power(counted, counted.columns[feed, POWER])
        energy_j, step_j = float(counter_j[-1] - counter_j[0]), _find_step_j(counter_j)
        span_s = (counted.times_ns[-1] - counted.times_ns[0]) / 1e9
        # At each end, the counter and the power may be apart by a part of a step or of an interval.
        edge_s = float(np.median(np.diff(counted.times_ns))) / 2e9
        tolerance_j = max(ENERGY_TOLERANCE, edge_s / span_s) * energy_j + step_j
        if abs(power_j - energy_j) > tolerance_j:
            difference = (
                f"{power_j / energy_j - 1:+.1%}" if energy_j else "the counter stands still"
            )
            log.problems.add(
                "energy-mismatch",
                0,
                f"{feed}: over {span_s:.0f} s, the power gives {power_j:.0f} J and the energy "
                f"counter {energy_j:.0f} J ({difference})",
                "both are used; check column and unit of the energy, and what the counter counts",
            )


def _find_step_j(counter_j: Floats) -> float:
    """The step of a counter by the readings of it, 0 if they do not show one."""
    rises_mj = np.rint(1e3 * np.diff(counter_j)).astype(np.int64)
    if not rises_mj.any():
        return LARGEST_STEP_J
    # A counter with coarse steps rises by more at one reading than at another.
    return float(np.gcd.reduce(rises_mj)) / 1e3 if len(np.unique(rises_mj)) > 1 else 0.0


def _check_gaps(log: PowerLog) -> None:
    steps_s = np.diff(log.times_ns) / 1e9
    if not len(steps_s):
        return
    median_s = float(np.median(steps_s))
    for row in np.flatnonzero(steps_s > GAP_INTERVALS * median_s).tolist():
        log.problems.add(
            "gap",
            int(log.lines[row + 1]),
            f"no reading for {steps_s[row]:.3f} s, with one every {median_s:.3f} s elsewhere",
            "the energy in the gap is a guess; do not score an epoch over it",
        )


def _check_repeats(log: PowerLog) -> None:
    share = find_repeated_share(log)
    if share > MAX_REPEATED_SHARE:
        log.problems.add(
            "repeats",
            0,
            f"{share:.0%} of the readings repeat the one before",
            "the meter renews its value more slowly than it is read; log at its own rate",
        )
