"""A board held down by a power cap that it does not come near

## What it does
Looks on H100 and H200, whose driver gives the power of an instant, for accelerators that say in at
least 90 % of their scored samples that the power cap holds the clock down (slowdown reason 0x4),
whose mean power over the scored epochs is below 80 % of the cap in force, and whose instantaneous
readings stay below 95 % of the cap in all but 5 %: a work of bursts is held down by its bursts, and
these show. Other boards, and samples without instantaneous readings, are not asked: what the reason
means on a board that shares a limit with a CPU, or what a mean of a second hides, has not been
measured.

## Why it is bad
A board whose clock is held down by its power cap is at that cap. Far below it, either the power
readings are too low (halved, scaled, or those of another board), or something else than this cap
holds the board: a limit of the node or of a management controller that is not declared. Hashes,
signatures and all figures derived from the readings can agree with either; physics does not.

## What to do
Find out what the meter reads, and hand in its readings as they are.

## Source
NVML API reference, nvmlClocksEventReasonSwPowerCap: clocks are reduced because the board draws too
much power. On the measured H200s the reason stands in 97 to 100 % of the scored samples at a mean
power of 94 to 99 % of the cap.
"""

from collections.abc import Iterator

import numpy as np

from rules.boards import board
from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES
from rules.finding import Severity, Violation
from rules.metrics.intervals import p95
from rules.rule import BundleRule

RULE = BundleRule(__name__, "W119", Severity.ERROR, standings=("closed", "open"), added="1.3.0")

CAPPED_SHARE = 0.9
NEAR_SHARE = 0.8
REACHED_SHARE = 0.95


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    if bundle.figures is None:
        return
    mean_w = {observed.accelerator: observed.mean_power_w for observed in bundle.figures.observed}
    for one in bundle.series:
        known = board(one.name)
        if one.vendor != "NVIDIA" or known is None or not known.instant:
            continue
        caps_w = one.samples.floats("cap_mw")[one.load] / 1e3
        caps_w = caps_w[np.isfinite(caps_w)]
        if not len(caps_w) or one.capped_share < CAPPED_SHARE:
            continue
        cap_w = float(caps_w.mean())
        if mean_w[one.accelerator] >= NEAR_SHARE * cap_w:
            continue
        readings_w = one.under_load_w[np.isfinite(one.under_load_w)]
        if len(readings_w) and (high_w := p95(readings_w)) < REACHED_SHARE * cap_w:
            drawn = (
                f"{mean_w[one.accelerator]:.0f} W on average and {high_w:.0f} W at the 95th "
                "percentile"
            )
            found = f"{one.accelerator}: {drawn}, held down by its power cap all the time"
            expected = (
                f"at least {NEAR_SHARE:.0%} and {REACHED_SHARE:.0%} of the cap of {cap_w:.0f} W"
            )
            message = (
                "Either the readings are too low, or something else than this cap holds the "
                "board. Find out which."
            )
            yield Violation(SAMPLES, one.place, found, expected, message)
