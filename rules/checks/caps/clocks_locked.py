"""The clock is constant

## What it does
Examines the clock of the compute units in the scored samples of each accelerator. The rule reports
an accelerator if

- 99 % of the samples have the same clock, below 98 % of the highest clock of the board;
- neither the power cap nor a thermal limit is the slowdown reason in more than 1 % of the samples
  in which the reason was read;
- the mean power is below 95 % of the cap.

The rule needs at least 100 samples with a clock and with a reason. W114 reports missing reasons.
C114 judges runs that declare a locked clock (`power.sm_clock_mhz`).

The clock of an H200 at its cap changes all the time: in seventeen measured runs the most frequent
value had at most 74 % of the samples, and the power cap was the reason.

## Why it is bad
A locked clock looks like this (`nvidia-smi -lgc`, `rocm-smi --setperfdeterminism`), and no driver
reports a lock. The clock limits the board instead of the cap, so that the efficiency is not that of
the cap. It is a warning for the reason that C108 gives.

## What to do
Unlock the clocks (`nvidia-smi -rgc`, `rocm-smi --resetperfdeterminism`, as root) and run again. To
measure at a locked clock, let the run lock it (`bench-submit run --sm-clock`).

## Source
NVML API reference, `nvmlDeviceSetGpuLockedClocks`; highest clocks in `rules/boards.py`.
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES
from rules.finding import Severity, Violation
from rules.metrics.power.slowdown import POWER_CAP, get_invalid_mask, have_any_bit
from rules.rule import BundleRule

RULE = BundleRule(__name__, "C111", Severity.WARNING, added="1.3.0")

MIN_SAMPLES = 100
"""Fewer samples are not enough for shares of 1 %."""
EQUAL_SHARE = 0.99
"""Share of equal clocks from which a clock counts as constant; measured runs have at most 0.74."""
LIMITED_SHARE = 0.01
"""Highest share of samples that are limited by the cap or by heat."""
BELOW_BOOST = 0.98
"""A clock below this share of the highest clock counts as low."""
AT_CAP = 0.95
"""Mean power from this share of the cap counts as at the cap."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    if bundle.declaration.power.locks_sm_clock:
        return
    at_cap = _find_accelerators_at_cap(bundle)
    for uuid, samples in bundle.scored_samples_of.items():
        board = bundle.board_of(uuid)
        sm_mhz = samples.floats("sm_mhz")
        sm_mhz = sm_mhz[np.isfinite(sm_mhz)]
        has_reason = np.isfinite(samples.floats("slowdown"))
        # The cap limits a board at its cap, whatever its clock does.
        if board is None or board.boost_mhz is None or uuid in at_cap:
            continue
        if min(len(sm_mhz), int(has_reason.sum())) < MIN_SAMPLES:
            continue
        # If 99 % of the samples have one value, it is the median. The median costs less than the
        # mode.
        median_mhz = float(np.median(sm_mhz))
        equal_share = float(np.mean(sm_mhz == median_mhz))
        mask = POWER_CAP.get(board.vendor, 0) | get_invalid_mask(bundle.protocol, board.vendor)
        # Samples without a reason prove nothing about the limits of the board.
        limited = have_any_bit(samples, mask)[has_reason]
        if (
            equal_share >= EQUAL_SHARE
            # At the highest clock an unlocked board is constant too.
            and 0 < median_mhz < BELOW_BOOST * board.boost_mhz
            and limited.mean() <= LIMITED_SHARE
        ):
            yield Violation(
                SAMPLES,
                "",
                f"{uuid}: {median_mhz:.0f} MHz in {100 * equal_share:.1f} % of the scored "
                "samples, limited neither by the cap nor by heat",
                f"a clock that cap and load change, up to {board.boost_mhz} MHz",
            )


def _find_accelerators_at_cap(bundle: Bundle) -> set[str]:
    if bundle.figures is None or bundle.cap_w is None:
        return set()
    limit_w = AT_CAP * bundle.cap_w
    return {o.accelerator for o in bundle.figures.observed if o.mean_power_w >= limit_w}
