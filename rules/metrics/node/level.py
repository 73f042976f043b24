"""The level of a node measurement by the methodology of the EE HPC Working Group (Energy Efficient
High Performance Computing Power Measurement Methodology, version 2.0).

The level is derived from the evidence. A submitter states none that counts.
"""

import math
from collections.abc import Sequence

import numpy as np

from rules.declarations.system import MeterDeclaration
from rules.metrics.node.spans import NodeSpan
from rules.metrics.node.traces import FeedTrace

MAX_INTERVAL_S = 1.0
MIN_CORE_S = 60.0
MIN_OUTSIDE_S = 5.0
"""Level 2 needs readings that begin so long before the first scored batch, and end so long after
the last."""
MAX_ACCURACY_PERCENT = {1: 5.0, 2: 2.0, 3: 1.0}
MAX_SINGLE_ACCURACY_PERCENT = 3.0
"""Errors of several meters average out only if each is at most this large."""
INTERVAL_TOLERANCE = 1.05
"""A sampler on a grid of 1 s has a median interval that is some microseconds longer."""


def derive_level(traces: Sequence[FeedTrace], core: Sequence[NodeSpan]) -> int:
    """The level of the measurement: 0 to 3. `core` lasts on each node from its first scored batch
    to its last."""
    accuracy_percent = combine_accuracy([trace.meter for trace in traces])
    if accuracy_percent is None or accuracy_percent > MAX_ACCURACY_PERCENT[1]:
        return 0
    if min(span.seconds for span in core) < MIN_CORE_S:
        return 0
    if max(get_median_interval_s(trace) for trace in traces) > MAX_INTERVAL_S * INTERVAL_TOLERANCE:
        return 0
    if accuracy_percent > MAX_ACCURACY_PERCENT[2] or not _covers_full_run(traces, core):
        return 1
    if accuracy_percent > MAX_ACCURACY_PERCENT[3] or not _has_counters(traces, core):
        return 2
    return 3


def combine_accuracy(meters: Sequence[MeterDeclaration]) -> float | None:
    """The accuracy of the sum of the meters, in %; None where one states none.

    It is that of the worst meter. Errors of n meters of at most 3 % each are independent and shrink
    with the square root of n.
    """
    by_meter = {meter.id: meter.accuracy_percent for meter in meters}
    known = [accuracy for accuracy in by_meter.values() if accuracy is not None]
    if len(known) < len(by_meter):
        return None
    if not known:
        return None
    worst = max(known)
    return worst / math.sqrt(len(known)) if worst <= MAX_SINGLE_ACCURACY_PERCENT else worst


def get_median_interval_s(trace: FeedTrace) -> float:
    """The median time between two usable readings of a feed, in s."""
    return float(np.median(np.diff(trace.times_s)))


def _covers_full_run(traces: Sequence[FeedTrace], core: Sequence[NodeSpan]) -> bool:
    return all(
        span.start_ns - trace.zero_ns >= MIN_OUTSIDE_S * 1e9
        and trace.zero_ns + trace.times_s[-1] * 1e9 - span.end_ns >= MIN_OUTSIDE_S * 1e9
        for span in core
        for trace in traces
        if trace.feed.node == span.node
    )


def _has_counters(traces: Sequence[FeedTrace], core: Sequence[NodeSpan]) -> bool:
    return all(
        trace.read_counter([span.start_ns], [span.end_ns]) is not None
        for span in core
        for trace in traces
        if trace.feed.node == span.node
    )
