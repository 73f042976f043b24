"""Checks that every log gets: impossible values, the order of times, stretches that no node can
have, powers that contradict volts and amperes or the energy counter, gaps and repeats."""

from dataclasses import replace

import numpy as np

from rules.bundle_format.table import Floats, Mask
from rules.metrics.node.missing import MISSING_INTERVALS, bound_energy_j, find_typical_s
from rules.power_logs.builder import LogSource
from rules.power_logs.grouping import exceeds_share, find_longest_rising
from rules.power_logs.integrals import integrate
from rules.power_logs.records import (
    CURRENT,
    ENERGY,
    POWER,
    POWER_FACTOR,
    VOLTAGE,
    Interval,
    LeftOut,
    PowerLog,
    PowerLogError,
    Problems,
    Series,
)
from rules.power_logs.stretches import find_stretches

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
"""A gap is longer than this many typical intervals: two readings or more are missing."""
_REPEATED_ROWS = 3
_MAX_SINGLES_SHARE = 0.25
_SINGLE_READINGS = 3
"""Lost readings of which no more follow each other leave the power beside them known."""
MAX_REPEATED_SHARE = 0.25


def check(log: PowerLog, rating_w: float | None = None) -> PowerLog:
    """Report the problems of a log, and return it without the readings that are none, without
    those out of order and without stretches that no node can have. Feeds without a reading that is
    left are left out too.

    `rating_w` is the rated power of each feed, if it is known.
    """
    kept = [_CheckedSeries(series, log) for series in log.series]
    for checked in kept:
        checked.drop_impossible()
        checked.drop_unordered()
    ordered = replace(log, series=tuple(checked.series for checked in kept))
    for checked in kept:
        checked.drop_stretches(ordered, rating_w)
        _check_products(checked.series, log.problems)
        _check_energy(checked.series, log)
        if log.interval is not Interval.UNTIL_NEXT:
            _check_gaps(checked.series, log.problems)
            _check_repeats(checked.series, log.problems)
    left_out = LeftOut(
        sum(checked.left_out for checked in kept),
        sum(len(checked.series) for checked in kept),
        sum(checked.bound_energy_j() for checked in kept),
    )
    series = tuple(checked.series for checked in kept if len(checked.series))
    return replace(log, series=series, left_out=left_out)


def refuse_mixed(source: LogSource, log: PowerLog, checked: PowerLog) -> None:
    """Raise PowerLogError if too many readings of a log are left out. `checked` is the log without
    them."""
    singles = source.interrupted + sum(map(_count_single_losses, log.series))
    left_out = source.torn + checked.left_out.readings
    total = range(source.torn + len(log))
    if left_out <= _MAX_SINGLES_SHARE * len(total):
        left_out -= singles
    if not exceeds_share(left_out, total):
        return
    back = next((line for line in map(_find_step_back, log.series) if line is not None), None)
    if (
        back is not None
        and log.problems.count("time-out-of-order") + log.problems.count("duplicate")
        > left_out // 2
    ):
        reason = f"the times begin again in line {back}"
    else:
        first = next(p for p in log.problems.list_all() if p.line and p.kind != "meter-message")
        reason = f"the first is line {first.line}: {first.kind}, {first.found}"
        if first.kind in ("ambiguous-time", "missing-time"):
            raise PowerLogError(
                f"{source.path}: {left_out} of {len(total)} readings would be left out; {reason}. "
                "Let the logger write UTC or an offset, or cut the log to the time after the change"
            )
    raise PowerLogError(
        f"{source.path}: {left_out} of {len(total)} readings would be left out; {reason}. "
        "If the log has several feeds or nodes, split it into one log for each, or declare the "
        "column that names the feed as [key] in a map"
    )


def find_repeated_share(series: Series) -> float:
    """Share of the readings that repeat the power before, among all but the first; 0 for one
    reading."""
    return float(np.mean(np.diff(series.power_w) == 0)) if len(series) > 1 else 0.0


def _find_step_back(series: Series) -> int | None:
    """The line of the first reading that is not later than the one before."""
    back = np.flatnonzero(np.diff(series.times_ns) <= 0)
    return int(series.lines[back[0] + 1]) if len(back) else None


def _count_single_losses(series: Series) -> int:
    """How many marks of no value and negative powers have power beside them, so that what is left
    out is bounded."""
    lost = np.zeros(len(series), dtype=bool)
    for feed in series.feeds:
        power_w = series.columns[feed, POWER]
        lost |= ~(power_w >= 0) | np.isin(power_w, _SENTINELS)
    edges = np.flatnonzero(np.diff(lost.astype(np.int8), prepend=0, append=0))
    lengths = edges[1::2] - edges[::2]
    return int(lengths[lengths <= _SINGLE_READINGS].sum())


class _CheckedSeries:
    """A series, and what was left out of it."""

    def __init__(self, series: Series, log: PowerLog) -> None:
        self.series, self._problems, self._interval = series, log.problems, log.interval
        self.left_out = 0
        self._missing_ns: list[int] = []
        """Times at which a reading was left out."""

    def _keep(self, kept: Mask) -> None:
        self.left_out += int(np.count_nonzero(~kept))
        self._missing_ns += self.series.times_ns[~kept].tolist()
        self.series = self.series.at(kept)

    def drop_impossible(self) -> None:
        """Leave out values that are no power of a node."""
        series = self.series
        bad = np.zeros(len(series), dtype=bool)
        for feed in series.feeds:
            power_w = series.columns[feed, POWER]
            sentinel = np.isin(power_w, _SENTINELS)
            # Noise around zero is judged as a stretch.
            kinds = (
                ("no-value", ~np.isfinite(power_w), "no reading"),
                ("sentinel", sentinel, "a mark of the meter for over range or no value"),
                (
                    "impossible-power",
                    (power_w > MAX_POWER_W) & np.isfinite(power_w) & ~sentinel,
                    "more than a megawatt",
                ),
            )
            for kind, where, meaning in kinds:
                for row in np.flatnonzero(where).tolist():
                    self._report(
                        kind,
                        row,
                        f"{feed}: {power_w[row]:g} W, {meaning}",
                        "the reading is left out; check range, wiring and unit of the meter",
                    )
                bad |= where
        self._keep(~bad)

    def drop_unordered(self) -> None:
        """Leave out the fewest readings so that the times rise."""
        series = self.series
        kept = find_longest_rising(series.times_ns)
        if len(kept) == len(series):
            return
        dropped = np.setdiff1d(np.arange(len(series)), kept)
        kept_times = series.times_ns[kept]
        for row in dropped.tolist():
            time_ns = int(series.times_ns[row])
            place = int(np.searchsorted(kept_times, time_ns))
            if place < len(kept) and kept_times[place] == time_ns:
                first = int(series.lines[kept[place]])
                is_same = all(c[row] == c[kept[place]] for c in series.columns.values())
                values = "the same values" if is_same else "other values"
                # A logger may write a reading twice. Far apart, equal readings are of two feeds.
                self.left_out += not (is_same and row - kept[place] <= _REPEATED_ROWS)
                self._report(
                    "duplicate",
                    row,
                    f"the time of line {first} again, with {values}",
                    "the reading is left out; let one logger write to the file",
                )
            else:
                self.left_out += 1
                before = kept[max(int(np.searchsorted(kept, row)) - 1, 0)]
                step_s = (time_ns - int(series.times_ns[before])) / 1e9
                neighbour = series.lines[before]
                self._report(
                    "time-out-of-order",
                    row,
                    f"a step of {step_s:+.3f} s from the time of line {neighbour}",
                    "the reading is left out; keep the clock of the logger in step, and log in UTC",
                )
        self.series = series.at(kept)

    def drop_stretches(self, log: PowerLog, rating_w: float | None) -> None:
        """Leave out spikes, stretches without signal, and negative powers."""
        series = self.series
        kept = np.ones(len(series), dtype=bool)
        for stretch in find_stretches(log, series, rating_w):
            kept[stretch.begin : stretch.end] = False
            first, last = series.lines[stretch.begin], series.lines[stretch.end - 1]
            place = "" if first == last else f" (to line {last})"
            self._report(stretch.kind, stretch.begin, stretch.found + place, stretch.advice)
        for feed in series.feeds:
            power_w = series.columns[feed, POWER]
            for row in np.flatnonzero((power_w < 0) & kept).tolist():
                self._report(
                    "negative-power",
                    row,
                    f"{feed}: {power_w[row]:g} W, a node does not deliver power",
                    "the reading is left out; check range, wiring and unit of the meter",
                )
            kept &= power_w >= 0
        self._keep(kept)

    def bound_energy_j(self) -> float:
        """How wrong the energy can be where readings were left out or are missing: as if the power
        there were the smallest or the largest of the series."""
        times_s = self.series.times_s
        if len(times_s) < 2:
            return 0.0
        steps_s = np.diff(times_s)
        unknown = np.zeros(len(steps_s), dtype=bool)
        if self._interval is not Interval.UNTIL_NEXT:
            unknown = steps_s > MISSING_INTERVALS * find_typical_s(steps_s)
        places = np.searchsorted(self.series.times_ns, self._missing_ns) - 1
        unknown[places[(places >= 0) & (places < len(steps_s))]] = True
        is_mean = self._interval is Interval.MEAN_BEFORE
        return bound_energy_j(times_s, self.series.power_w, unknown, is_mean)

    def _report(self, kind: str, row: int, found: str, advice: str) -> None:
        self._problems.add(kind, int(self.series.lines[row]), found, advice)


def _check_products(series: Series, problems: Problems) -> None:
    """Report powers that differ from volts, amperes and power factor of the same feed."""
    for feed in series.feeds:
        parts = [series.columns.get((feed, name)) for name in (VOLTAGE, CURRENT, POWER_FACTOR)]
        power_w = series.columns[feed, POWER]
        if not len(series) or any(part is None for part in parts):
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
            problems.add(
                "product-mismatch",
                int(series.lines[row]),
                f"{feed}: {power_w[row]:g} W, but V·I·PF is {product_w[row]:g} W",
                "the reading is used; check the wiring and the ratios of the meter",
            )


def _check_energy(series: Series, log: PowerLog) -> None:
    """Report energy counters that contradict the power of the same feed, or fall."""
    for feed in series.feeds:
        if (feed, ENERGY) not in series.columns:
            continue
        counted = series.at(np.isfinite(series.columns[feed, ENERGY]))
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
        power_j = integrate(counted.times_s, counted.columns[feed, POWER], log.interval)
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


def _check_gaps(series: Series, problems: Problems) -> None:
    steps_s = np.diff(series.times_ns) / 1e9
    if not len(steps_s):
        return
    typical_s = find_typical_s(steps_s)
    for row in np.flatnonzero(steps_s > GAP_INTERVALS * typical_s).tolist():
        problems.add(
            "gap",
            int(series.lines[row + 1]),
            f"no reading for {steps_s[row]:.3f} s, with one every {typical_s:.3f} s elsewhere",
            "the energy in the gap is a guess; do not score an epoch over it",
        )


def _check_repeats(series: Series, problems: Problems) -> None:
    share = find_repeated_share(series)
    if share > MAX_REPEATED_SHARE:
        problems.add(
            "repeats",
            0,
            f"{share:.0%} of the readings repeat the one before",
            "the meter renews its value more slowly than it is read; log at its own rate",
        )
