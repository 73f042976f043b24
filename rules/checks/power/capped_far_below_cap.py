"""The power cap limits a board that stays far below it

## What it does
Examines boards on which it was measured how low the clock is held without the power cap: H100 and
H200. The rule reports an accelerator if

- the power cap is a slowdown reason (0x4) in at least 90 % of its scored samples;
- known runs of this workload, variant and batch size are limited by the cap, and the implementation
  is the reference implementation; or the clock is below every measured ceiling of the board in at
  least 10 % of the scored samples;
- its mean power over the scored epochs is below 80 % of the cap in force;
- the 95th percentile of its instantaneous readings is below 95 % of the cap. A workload with short
  power peaks is limited during the peaks, and the readings show them.

## Why it is bad
A board whose clock is limited by its power cap draws the cap. Far below it, either the power
readings are too low (halved, scaled, or those of another board), or another limit than this cap
holds the board: an undeclared limit of the node or of a management controller. Hashes, signatures
and all derived figures can agree with either, but the physics cannot.

The reason alone does not show this limit: NVML gives it also when dense products of inputs with
many zeros hold the clock at a ceiling, at 55 to 95 % of the cap. Such a clock is above the lowest
measured ceiling, and the rule does not report it in runs of other implementations and inputs.

## What to do
Find out what the meter reads and which limit holds the board. Submit the readings unchanged.

## Source
NVML API reference, nvmlClocksEventReasonSwPowerCap. On the measured H200s that their cap limits,
the reason is present in 97 to 100 % of the scored samples at a mean power of 94 to 99 % of the cap.
Ceilings: `rules/metrics/power/clock_limit.py`.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES
from rules.finding import Severity, Violation
from rules.known_results import is_held_by_cap
from rules.metrics.intervals import p95
from rules.metrics.power.series import Series
from rules.rule import BundleRule

RULE = BundleRule(__name__, "W119", Severity.ERROR, standings=("closed", "open"), added="1.3.0")

CAPPED_SHARE = 0.9
"""Share of samples from which the cap limits the board; measured H200s have 0.97 or more, or 0.11
in a run that their cap does not limit."""
NEAR_SHARE = 0.8
"""Lowest plausible mean power of a limited board, as a share of the cap; measured H200s have 0.94
or more."""
REACHED_SHARE = 0.95
"""Lowest plausible 95th percentile of the readings, as a share of the cap."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    for series, far_below in find_boards_far_below_cap(bundle):
        yield Violation(
            SAMPLES,
            series.place,
            f"{series.accelerator}: {far_below.mean_w:.0f} W on average and {far_below.high_w:.0f} "
            f"W at the 95th percentile, limited by the power cap in {series.capped_share:.0%} of "
            "the samples",
            f"at least {NEAR_SHARE:.0%} and {REACHED_SHARE:.0%} of the cap of "
            f"{series.mean_cap_w:.0f} W",
        )


@dataclass(frozen=True)
class FarBelow:
    """Mean and 95th percentile of the power, in W, of a board that is far below its cap."""

    mean_w: float
    high_w: float


def find_boards_far_below_cap(bundle: Bundle) -> Iterator[tuple[Series, FarBelow]]:
    """Yield the boards that the power cap limits although they are far below it."""
    if bundle.figures is None:
        return
    mean_power_w = {o.accelerator: o.mean_power_w for o in bundle.figures.observed}
    for series in bundle.series:
        # Other vendors use other bits for the cap.
        if series.vendor != "NVIDIA":
            continue
        # The cap in force counts, not the declared one: C101 compares the two.
        cap_w, mean_w = series.mean_cap_w, mean_power_w[series.accelerator]
        if not np.isfinite(cap_w) or series.capped_share < CAPPED_SHARE:
            continue
        if not is_held_by_cap(bundle, series):
            continue
        readings_w = series.under_load_w[np.isfinite(series.under_load_w)]
        if mean_w >= NEAR_SHARE * cap_w or not len(readings_w):
            continue
        # Short peaks can hit the cap while the mean stays low. The 95th percentile shows such
        # peaks.
        high_w = p95(readings_w)
        if high_w < REACHED_SHARE * cap_w:
            yield series, FarBelow(mean_w, high_w)
