"""Power exceeds the maximum of the board

## What it does
Compares power in the scored epochs with the highest power in W that the board may be set to. The
mean of every epoch and the averaged readings may exceed it by 5 %, single instantaneous readings by
50 %. For a board that the rule book does not know, the limit uses `max_power_w` of system.json.

A board keeps its limit on average, not at every instant: at its cap of 700 W an H200 that trained
ResNet-50 with batches of 274 ms was read at 412 to 855 W, while its own one-second average stayed
below 705 W.

## Why it is bad
The reading is not the power of that board: it comes from another board, has another unit, or the
sensor is broken.

## What to do
Check that the meter and system.json name the same board, and check the unit of the readings.

## Source
Protocol, section "bounds"; the vendors' data sheets, see `rules/boards.py`.
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES, expand_by_accelerator, find_offenders, format_rows
from rules.finding import Severity, Violation, format_count
from rules.metrics.power.readings import are_sentinels, read_average_power_w, read_power_w
from rules.rule import BundleRule

RULE = BundleRule(__name__, "W106", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    samples, protocol = bundle.scored_samples, bundle.protocol
    highest_w = {
        uuid: accelerator.highest_power_w for uuid, accelerator in bundle.accelerators.items()
    }
    highest_by_sample_w = expand_by_accelerator(samples, highest_w)
    for column, power_w, tolerance in (
        # A board keeps its limit on average. A single instantaneous reading may lie far above it.
        ("power_mw", read_power_w(samples), protocol.transient_tolerance),
        ("power_avg_mw", read_average_power_w(samples), protocol.board_power_tolerance),
    ):
        # W104 reports sentinels. NaN, an unknown maximum, compares as not above.
        high = (power_w > highest_by_sample_w * tolerance) & ~are_sentinels(power_w)
        for uuid, where, count in find_offenders(samples, high):
            yield Violation(
                SAMPLES,
                where,
                f"{uuid}: {format_count(count, 'reading')} above the limit in {column}, such as "
                f"{power_w[high][0]:.1f} W",
                _format_limit(highest_w[uuid] * tolerance),
            )
    # The mean of an epoch has the narrow limit, so a moderate scaling of all readings is found too.
    for part in bundle.scored_parts:
        limit_w = highest_w.get(part.accelerator, np.nan) * protocol.board_power_tolerance
        mean_power_w = part.energy_j_trapezoid / part.active_s
        if mean_power_w > limit_w:
            count = len(part.samples)
            yield Violation(
                SAMPLES,
                format_rows(part.samples, np.ones(count, dtype=bool)) if count else "",
                f"{part.accelerator}: {mean_power_w:.1f} W on average in epoch {part.epoch}",
                _format_limit(limit_w),
            )


def _format_limit(limit_w: float) -> str:
    return f"at most {limit_w:g} W, the maximum of the board with the tolerance"
