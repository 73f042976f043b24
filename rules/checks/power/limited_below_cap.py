"""A board that is limited by its power cap draws less than the cap

## What it does
Examines H200s with at least 1 000 instantaneous readings under load. A board is limited by its cap

- in samples whose SM clock is below 98 % of the highest clock of the board, unless another
  slowdown reason than the power cap explains the clock;
- in all samples that name the power cap (0x4), if at least 99 % of the scored samples do.

A server is judged only if at least 90 % of its samples under load have such a clock.

If there are at least 1 000 such samples, their mean power must reach 95.5 % of the cap in force.
W119 reports boards that are far below the cap, and this rule does not repeat it.

## Why it is bad
The driver lowers the clock until the board draws its cap, and not further. Power readings that are
5 % below the cap at a low clock are probably scaled, shifted, or of another run. The energy per
item is then understated by as much. A server is an exception if its decoding draws less than the
cap: prefill draws more for some milliseconds, and the driver lowers the clock for it only.

## What to do
Submit the readings as the meter gave them. A locked clock has the same effect: unlock it as
described in C111. If another limit of the node holds the clock, say so in system.json.

## Source
The first 56 runs of H200s at a cap of 700 W (72 series of readings of 40 boards): the mean power of
such samples is 97.0 to 99.2 % of the cap. Two further runs of ResNet-50 near the highest clock have
396 and no such samples and are not judged. A server with 16 requests in flight names the power cap
in all samples, has a low clock in 36 % of them, and draws 602 W. With FP8 weights, an FP8 cache and
512 requests, the clock is low in 59 % of the samples, and these have 659 W on average. Servers
whose clock is low in 99 % and more have 98.5 to 99.1 % of the cap. Other boards and caps have not
been measured, so the finding is a warning.
"""

from collections.abc import Iterator

import numpy as np

from rules.boards import find_board
from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES, Mask, format_rows
from rules.checks.power.capped_far_below_cap import find_boards_far_below_cap
from rules.finding import Severity, Violation
from rules.metrics.power.series import ENOUGH, Series
from rules.metrics.power.slowdown import IDLE, POWER_CAP, read_masks
from rules.rule import BundleRule

RULE = BundleRule(
    __name__,
    "W126",
    Severity.WARNING,
    standings=("closed", "open"),
    added="1.5.0",
    statistical=True,
)

BELOW_BOOST = 0.98
"""A clock below this share of the highest clock counts as low."""
CAPPED_SHARE = 0.99
"""Share of samples from which the cap counts as the limit of all of them."""
SERVER_LOW_SHARE = 0.9
"""Share of samples with a low clock from which the cap counts as the limit of a server."""
NEAR_SHARE = 0.955
"""Lowest usual power of a limited board, as a share of the cap; measured boards have 0.97 or
more."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    far_below = {series.accelerator for series, _ in find_boards_far_below_cap(bundle)}
    for series in bundle.measured_series:
        if series.accelerator in far_below:
            continue
        if bundle.request_set is not None and compute_low_share(series) < SERVER_LOW_SHARE:
            continue
        limited = select_limited(series) & np.isfinite(series.power_w)
        if np.count_nonzero(limited) < ENOUGH:
            continue
        mean_w = float(series.power_w[limited].mean())
        # If the cap in force was not read, it is NaN and compares as not below: C107 reports it.
        if mean_w < NEAR_SHARE * series.mean_cap_w:
            yield Violation(
                SAMPLES,
                format_rows(series.samples, limited),
                f"{series.accelerator}: {mean_w:.1f} W on average in {np.count_nonzero(limited)} "
                "samples in which the power cap limits the clock",
                f"at least {NEAR_SHARE:.1%} of the cap of {series.mean_cap_w:.0f} W",
            )


def compute_low_share(series: Series) -> float:
    """The share of the samples under load that have a low clock."""
    low = have_low_clock(series)[series.load]
    return int(low.sum()) / max(1, len(low))


def have_low_clock(series: Series) -> Mask:
    """Which samples, shape (n,), have a clock below `BELOW_BOOST` of the highest one."""
    board = find_board(series.name)
    boost_mhz = board.boost_mhz if board and board.boost_mhz else np.nan
    low: Mask = series.sm_mhz < BELOW_BOOST * boost_mhz
    return low


def select_limited(series: Series) -> Mask:
    """Which samples, shape (n,), are under load and limited by the power cap."""
    known = POWER_CAP.get(series.vendor, 0) | IDLE.get(series.vendor, 0)
    other_reason = (read_masks(series.samples) & ~np.uint64(known)) != 0
    limited: Mask = have_low_clock(series) & ~other_reason
    if series.capped_share >= CAPPED_SHARE:
        limited |= series.capped
    return limited & series.load
