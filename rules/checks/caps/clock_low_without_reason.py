"""A clock below boost that nothing holds down

## What it does
Looks, on the NVIDIA boards that the rule book knows, for scored samples whose SM clock is below 98
% of the board's highest one while `slowdown` was read and gives no reason (being idle is none under
load). It speaks where they are more than 5 %.

In the seventeen measured runs of H200s they are at most 0.3 %: the power cap is the reason in 97 to
100 % of the samples.

## Why it is bad
An NVIDIA board under load goes to its highest clock unless something holds it down, and then it
says what. Where it does not, the reason was taken out of the samples, perhaps to quiet W119, or the
clock is locked (C111). It is a note, because samples of clock and reason are not taken at the very
same instant.

## What to do
Hand in the samples as they were read. Unlock the clocks, as C111 says.

## Source
NVML API reference, `nvmlClocksEventReasons`; highest clocks in `rules/boards.py`.
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES, rows
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "C112", Severity.NOTE, standings=("closed", "open"), added="1.3.0")

BELOW_BOOST = 0.98
UNEXPLAINED_SHARE = 0.05
NO_REASON = (0.0, 1.0)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    for uuid, own in bundle.scored_samples_of.items():
        known = bundle.real_board_of(uuid)
        if known is None or not known.vendor == bundle.vendor_of(uuid) == "NVIDIA":
            continue
        low = own.floats("sm_mhz") < BELOW_BOOST * known.boost_mhz
        slowdown = own.floats("slowdown")
        low &= np.logical_or.reduce([slowdown == reason for reason in NO_REASON])
        if low.mean() > UNEXPLAINED_SHARE:
            below = f"below {BELOW_BOOST * known.boost_mhz:.0f} MHz"
            found = f"{uuid}: {below} in {low.mean():.0%} of the scored samples, for no reason"
            message = (
                "Something holds the clock down and is not named. Hand in the reasons as they "
                "were read."
            )
            yield Violation(
                SAMPLES, rows(own, low), found, f"a reason, or about {known.boost_mhz} MHz", message
            )
