"""A board that is limited by its power cap draws less than the cap

## What it does
Examines the instantaneous readings under load of boards on which it was measured how low the clock
is held without the power cap: H100 and H200.

If known runs of this workload, variant and batch size are limited by the cap, and the
implementation is the reference implementation, a sample counts as limited by the cap

- if its SM clock is below 98 % of the highest clock of the board, unless a slowdown that makes the
  run invalid (C106) or a declared lock explains the clock;
- if it names the power cap (0x4), and at least 99 % of the scored samples do.

The mean power of such samples must reach 95.5 % of the cap in force if there are at least 1 000 of
them. A server is judged only if at least 90 % of its samples under load have such a clock.

In other runs, a sample counts as limited by the cap only if its clock is below every measured
ceiling of the board in the precision of the run. The mean power of such samples must reach 90 % of
the cap if there are at least 300 of them.

W119 reports boards that are far below the cap, and this rule does not repeat it.

## Why it is bad
Where the power cap is the limit, the driver lowers the clock until the board draws its cap, and not
further. Power readings that are 5 % below the cap at a low clock are probably scaled, shifted, or
of another run. The energy per item is then understated by as much.

The clock has other limits. Dense products of inputs with many zeros hold it at a ceiling far below
the cap, with the same slowdown reason, and so do the short products of a server that is not full.
Hence the two ways to judge.

## What to do
Submit the readings as the meter gave them. A locked clock has the same effect: unlock it as
described in C111. If another limit of the node holds the clock, say so in system.json.

## Source
The first 56 runs of H200s at a cap of 700 W (72 series of readings of 40 boards): the mean power of
samples with a low clock is 97.0 to 99.2 % of the cap. A server with 16 requests in flight names the
power cap in all samples, has a low clock in 36 % of them, and draws 602 W: most of the time its
clock is at a ceiling, 1 965 MHz. Below every ceiling, the samples of committed runs have 92.6 to
102 % of the cap where there are 300 or more of them. Ceilings:
`rules/metrics/power/clock_limit.py`. Other boards and caps have not been measured, so the finding
is a warning.
"""

from collections.abc import Iterator

import numpy as np

from rules.boards import find_board
from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES, Mask, format_rows
from rules.checks.power.capped_far_below_cap import find_boards_far_below_cap
from rules.finding import Severity, Violation
from rules.known_results import is_known_to_be_capped
from rules.metrics.power.clock_limit import have_clock_below_ceilings, have_low_clock
from rules.metrics.power.series import ENOUGH, Series
from rules.metrics.power.slowdown import get_invalid_mask, have_any_bit
from rules.rule import BundleRule

RULE = BundleRule(
    __name__,
    "W126",
    Severity.WARNING,
    standings=("closed", "open"),
    added="1.5.0",
    statistical=True,
)

CAPPED_SHARE = 0.99
"""Share of samples from which the cap counts as the limit of all of them."""
SERVER_LOW_SHARE = 0.9
"""Share of samples with a low clock from which the cap counts as the limit of a server."""
NEAR_SHARE = 0.955
"""Lowest usual power of a board that is known to be limited, as a share of the cap; measured
boards have 0.97 or more."""
ENOUGH_BELOW_CEILINGS = 300
"""The least number of samples below every ceiling whose mean is judged."""
NEAR_SHARE_BELOW_CEILINGS = 0.9
"""Lowest usual power of samples below every ceiling, as a share of the cap; in committed runs they
have 0.926 or more. Clock and power are not read at the same instant, so the mean of samples that
are chosen by their clock is less certain."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    far_below = {series.accelerator for series, _ in find_boards_far_below_cap(bundle)}
    for series in bundle.series:
        board = find_board(series.name)
        if series.vendor != "NVIDIA" or board is None or not board.clock_ceilings_mhz:
            continue
        if series.accelerator in far_below:
            continue
        if is_known_to_be_capped(bundle, board.id, NEAR_SHARE):
            if bundle.request_set is not None and compute_low_share(series) < SERVER_LOW_SHARE:
                continue
            limited, enough, near_share = select_limited(bundle, series), ENOUGH, NEAR_SHARE
        else:
            limited = have_clock_below_ceilings(series, bundle.precision) & series.load
            limited &= ~have_other_cause(bundle, series)
            enough, near_share = ENOUGH_BELOW_CEILINGS, NEAR_SHARE_BELOW_CEILINGS
        limited &= np.isfinite(series.power_w)
        if np.count_nonzero(limited) < enough:
            continue
        mean_w = float(series.power_w[limited].mean())
        # If the cap in force was not read, it is NaN and compares as not below: C107 reports it.
        if mean_w < near_share * series.mean_cap_w:
            yield Violation(
                SAMPLES,
                format_rows(series.samples, limited),
                f"{series.accelerator}: {mean_w:.1f} W on average in {np.count_nonzero(limited)} "
                "samples in which the power cap limits the clock",
                f"at least {near_share:.1%} of the cap of {series.mean_cap_w:.0f} W",
            )


def compute_low_share(series: Series) -> float:
    """The share of the samples under load that have a low clock."""
    low = have_low_clock(series)[series.load]
    return int(low.sum()) / max(1, len(low))


def have_other_cause(bundle: Bundle, series: Series) -> Mask:
    """Which samples, shape (n,), have a low clock for a reason that is declared or that another
    rule reports: a slowdown of C106, or the lock that the run set."""
    if bundle.declaration.power.locks_sm_clock:
        return np.ones(len(series.samples), dtype=bool)
    return have_any_bit(series.samples, get_invalid_mask(bundle.protocol, series.vendor))


def select_limited(bundle: Bundle, series: Series) -> Mask:
    """Which samples, shape (n,), of a run that is known to be limited by the cap are so."""
    limited: Mask = have_low_clock(series) & ~have_other_cause(bundle, series)
    if series.capped_share >= CAPPED_SHARE:
        limited |= series.capped
    return limited & series.load
