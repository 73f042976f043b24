"""Readings that a log of node power lacks, and what they may change."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from rules.bundle_format.table import Floats, Mask
from rules.metrics.node.traces import FeedTrace

MISSING_INTERVALS = 1.5
"""A reading is missing in an interval longer than so many typical ones."""
_TYPICAL_QUANTILE = 0.75
"""The typical interval is longer than so many. The median is none where readings come in pairs."""


@dataclass(frozen=True)
class Missing:
    """What the readings of a meter on a node lack over some time."""

    share: float
    """Share of the readings that are missing, of the feed that lacks most."""
    energy_bound_j: float
    """How much energy of all feeds together may be missing or too much, in J."""


def find_typical_s(steps_s: Floats) -> float:
    """The interval that three quarters of the intervals do not exceed, in s."""
    return float(np.quantile(steps_s, _TYPICAL_QUANTILE, method="lower"))


def bound_energy_j(
    times_s: Floats, power_w: Floats, is_unknown: Mask, is_interval_mean: bool
) -> float:
    """How wrong the energy between n readings can be where the power is unknown: as if it were the
    smallest or the largest of the readings. `is_unknown` has the shape (n - 1,)."""
    means_w = power_w[1:] if is_interval_mean else (power_w[1:] + power_w[:-1]) / 2
    worst_w = np.maximum(power_w.max() - means_w, means_w - power_w.min())
    return float((worst_w * np.diff(times_s))[is_unknown].sum())


def measure_missing(
    traces: Iterable[FeedTrace], span_ns: tuple[int, int] | None = None
) -> Missing | None:
    """What the feeds of one meter on one node lack, over all their readings or a span of time.
    None if no feed has two readings there. A feed whose energy counter gives the energy lacks
    none."""
    shares, bounds_j = [], []
    for trace in traces:
        zero_ns, times_s = trace.zero_ns, trace.times_s
        typical_s = find_typical_s(np.diff(times_s))
        start_s, end_s = times_s[0], times_s[-1]
        if span_ns is not None:
            start_s, end_s = ((time_ns - zero_ns) / 1e9 for time_ns in span_ns)
        # Also the readings beside the span, which bound the gaps at its ends.
        first = max(int(np.searchsorted(times_s, start_s, side="right")) - 1, 0)
        last = int(np.searchsorted(times_s, end_s)) + 1
        times_s, power_w = times_s[first:last], trace.power_w[first:last]
        if len(times_s) < 2:
            continue
        steps_s = np.diff(times_s)
        is_unknown = steps_s > MISSING_INTERVALS * typical_s
        missing = float(np.round(steps_s[is_unknown] / typical_s - 1).sum())
        shares.append(missing / (missing + len(times_s)))
        ends_ns = [zero_ns + round(float(time_s) * 1e9) for time_s in (times_s[0], times_s[-1])]
        if trace.read_counter(ends_ns[:1], ends_ns[1:]) is None:
            bounds_j.append(bound_energy_j(times_s, power_w, is_unknown, trace.is_interval_mean))
    return Missing(max(shares), sum(bounds_j)) if shares else None
