"""Finds readings that no node can have had: spikes, and stretches of a feed without signal."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rules.bundle_format.table import Floats, Mask
from rules.power_logs.records import POWER, PowerLog, PowerLogError, Series

LOST_SHARE = 0.02
"""Below this share of its median power a feed may have lost its signal. Standby draws more."""
SPIKE_FACTOR = 10.0
"""A spike is so many times the readings beside it: more than from idle to full load."""
_SPIKE_OVER_LOAD = 3.0
"""And so many times the largest reading that is no spike."""
_SPIKE_READINGS = 3
"""More readings in a row are a load."""
_NEIGHBOURS = 5
_OVER_RATING = 1.5
"""No supply gives so many times its rating for the time of a reading."""
MAX_RUNS = 100_000
"""Most stretches that a log may have; in a log of a week, a meter that fails every ten seconds has
fewer."""
_TAKEN_OVER = 0.5
"""If the other feeds take over this share of what a feed lacks, the feed really stood still."""


@dataclass(frozen=True)
class Stretch:
    """Readings of a feed in a row, which are left out as a whole."""

    kind: str
    feed: str
    begin: int
    end: int
    """Rows of the series, the end excluded."""
    found: str
    advice: str


def find_stretches(log: PowerLog, series: Series, rating_w: float | None) -> Iterator[Stretch]:
    """The stretches of a series to leave out. `rating_w` is the highest power of each feed that is
    possible by its rating, if that is known."""
    for feed in series.feeds:
        power_w = series.columns[feed, POWER]
        yield from _find_lost(log, series, feed, power_w)
        yield from _find_spikes(log, feed, power_w, rating_w)


def _find_lost(log: PowerLog, series: Series, feed: str, power_w: Floats) -> Iterator[Stretch]:
    level_w = float(np.median(power_w)) if len(power_w) else 0.0
    near = (np.abs(power_w) <= LOST_SHARE * level_w) & (level_w > 0)
    others_w: Floats | None = None
    runs = _find_runs(near)
    _refuse_many(log, feed, runs, "stretches without power")
    for begin, end in runs:
        part_w = power_w[begin:end]
        is_inside = begin > 0 and end < len(power_w)
        # Noise around zero has both signs. A reading of exactly 0 W between loads is no reading.
        if not ((part_w < 0).any() or (is_inside and (part_w == 0).any())):
            continue
        if others_w is None:
            others_w = _sum_others(log, series, feed)
        beside = np.r_[max(begin - _NEIGHBOURS, 0) : begin, end : end + _NEIGHBOURS]
        beside = beside[beside < len(power_w)]
        if len(beside):
            gained_w = np.median(others_w[begin:end]) - np.median(others_w[beside])
            if gained_w > _TAKEN_OVER * np.median(power_w[beside]):
                continue
        if end - begin == 1 and part_w[0] < 0:
            continue  # reported as a negative power
        yield Stretch(
            "signal-lost",
            feed,
            begin,
            end,
            f"{feed}: {_count(end - begin)} of {part_w.min():g} to {part_w.max():g} W, where the "
            f"feed has {level_w:g} W elsewhere and no other feed takes over",
            "the whole stretch is left out; check the wiring of this feed",
        )


def _find_spikes(
    log: PowerLog, feed: str, power_w: Floats, rating_w: float | None
) -> Iterator[Stretch]:
    if not len(power_w):
        return
    if rating_w is not None:
        above = _find_runs(power_w > _OVER_RATING * rating_w)
        _refuse_many(log, feed, above, "stretches above its rating")
        for begin, end in above:
            yield Stretch(
                "above-rating",
                feed,
                begin,
                end,
                f"{feed}: {_count(end - begin)} of up to {power_w[begin:end].max():g} W, with a "
                f"rating of {rating_w:g} W",
                "left out; check range, ratio and unit of the meter, or the rating",
            )
    level_w = float(np.median(np.abs(power_w)))
    runs = [
        run
        for run in _find_runs(power_w > SPIKE_FACTOR * level_w)
        if run[1] - run[0] <= _SPIKE_READINGS
    ]
    ordinary = np.ones(len(power_w), dtype=bool)
    for begin, end in runs:
        ordinary[begin:end] = False
    if not ordinary.any():
        return
    largest_w = float(power_w[ordinary].max())
    runs = [run for run in runs if power_w[run[0]] > _SPIKE_OVER_LOAD * largest_w]
    _refuse_many(log, feed, runs, "spikes")
    for begin, end in runs:
        around = np.arange(max(begin - _NEIGHBOURS, 0), min(end + _NEIGHBOURS, len(power_w)))
        around_w = np.abs(power_w[around[ordinary[around]]])
        beside_w = float(around_w.max(initial=0.0))
        spike_w = float(power_w[begin:end].min())
        # Beside zeros nothing shows what is possible.
        if (
            beside_w
            and spike_w > SPIKE_FACTOR * beside_w
            and spike_w > _SPIKE_OVER_LOAD * largest_w
        ):
            usual_w = float(np.median(around_w)) or beside_w
            yield Stretch(
                "spike",
                feed,
                begin,
                end,
                f"{feed}: {_count(end - begin)} of up to {power_w[begin:end].max():g} W, "
                f"{spike_w / usual_w:.0f} times the {usual_w:g} W beside",
                "left out; check range and cables of the meter",
            )


def _find_runs(where: Mask) -> list[tuple[int, int]]:
    """Begin and end of each run of True."""
    edges = np.flatnonzero(np.diff(where.astype(np.int8), prepend=0, append=0))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def _refuse_many(log: PowerLog, feed: str, runs: list[tuple[int, int]], kind: str) -> None:
    """Raise PowerLogError if a feed has too many runs, each of which is looked at alone."""
    if len(runs) > MAX_RUNS // len(log.feeds):
        raise PowerLogError(
            f"feed {feed} has {len(runs)} {kind}, so its readings are not those of a power meter; "
            "check column, unit and wiring of the feed, or cut the log to the time of the job"
        )


def _sum_others(log: PowerLog, series: Series, feed: str) -> Floats:
    """Power of all other feeds at the times of a series, shape (n,)."""
    total_w = np.zeros(len(series))
    if not log.adds:
        return total_w
    for other in log.series:
        for name in other.feeds:
            if name == feed:
                continue
            power_w = other.columns[name, POWER]
            if other is series:
                total_w = total_w + power_w
            elif len(other):
                order = np.argsort(other.times_ns, kind="stable")
                total_w = total_w + np.interp(
                    series.times_ns, other.times_ns[order], power_w[order]
                )
    return total_w


def _count(readings: int) -> str:
    return "a reading" if readings == 1 else f"{readings} readings"
