"""More power than the board can draw

## What it does
Compares power in the scored epochs with the highest power that the board may be set to: the mean of
every epoch and the board's averaged readings with a small tolerance, single instantaneous readings
with a larger one. For a board that the rule book does not know, `max_power_w` of system.json
serves.

A board holds its limit on average, not in every instant: at its cap of 700 W an H200 that trained
ResNet-50 with batches of 274 ms was read at 412 to 855 W, while its own one-second average stayed
below 705 W.

## Why it is bad
The reading is not that board's power: another board, another unit, or a broken sensor.

## What to do
Check that the meter and system.json name the same board, and the unit of the readings.

## Source
Protocol, section "bounds"; the makers' data sheets, see `rules/boards.py`.
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES, of_each, offenders, rows
from rules.finding import Severity, Violation
from rules.metrics.readings import are_sentinels, read_average_power_w, read_power_w
from rules.rule import BundleRule

RULE = BundleRule(__name__, "W106", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    samples, protocol = bundle.scored_samples, bundle.protocol
    highest_w = {
        uuid: accelerator.highest_power_w for uuid, accelerator in bundle.accelerators.items()
    }
    limits_w = of_each(samples, highest_w)
    for column, power_w, tolerance in (
        ("power_mw", read_power_w(samples), protocol.transient_tolerance),
        ("power_avg_mw", read_average_power_w(samples), protocol.board_power_tolerance),
    ):
        wrong = (power_w > limits_w * tolerance) & ~are_sentinels(power_w)
        for uuid, where, count in offenders(samples, wrong):
            found = (
                f"{uuid}: {count} readings above the limit in {column}, such as "
                f"{power_w[wrong][0]:.1f} W"
            )
            yield _found(where, found, highest_w[uuid] * tolerance)
    for part in bundle.scored_parts:
        limit_w = highest_w.get(part.accelerator, np.nan) * protocol.board_power_tolerance
        mean_w = part.energy_j_trapezoid / part.active_s
        if mean_w > limit_w:
            found = f"{part.accelerator}: {mean_w:.1f} W on average in epoch {part.epoch}"
            where = (
                rows(part.samples, np.ones(len(part.samples), dtype=bool))
                if len(part.samples)
                else ""
            )
            yield _found(where, found, limit_w)


def _found(where: str, found: str, limit_w: float) -> Violation:
    expected = f"at most {limit_w:g} W, the board's maximum and the tolerance"
    return Violation(
        SAMPLES,
        where,
        found,
        expected,
        "This board cannot draw that much. Check which board was read, and the unit.",
    )
