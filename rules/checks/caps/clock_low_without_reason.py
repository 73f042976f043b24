"""The clock is low without a slowdown reason

## What it does
Counts, on the NVIDIA boards that the rule book knows, the scored samples whose SM clock is below 98
% of the highest clock of the board while `slowdown` contains no reason that explains it. The power
cap does, which NVML also gives for a ceiling of the clock under dense products, and so do the
slowdowns that C106 reports. The other reasons do not: a board under load is not idle, and C108
compares requested clocks. The limit is 5 % of the samples. C114 judges runs that declare a locked
clock.

In the seventeen measured runs of H200s the share is at most 0.3 %: the power cap is the reason in
97 to 100 % of the samples.

## Why it is bad
An NVIDIA board under load runs at its highest clock unless something limits it, and then the driver
reports the reason. If no such reason is recorded, either the reasons were altered in the samples,
for example to avoid W119, or the clock is locked (C111). It is a note, because clock and reason are
not sampled at exactly the same instant.

## What to do
Submit the samples as they were read. Unlock the clocks as described in C111.

## Source
NVML API reference, `nvmlClocksEventReasons`; highest clocks in `rules/boards.py`.
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES, format_rows
from rules.finding import Severity, Violation
from rules.metrics.power.clock_limit import BELOW_BOOST
from rules.metrics.power.slowdown import POWER_CAP, get_invalid_mask, have_any_bit
from rules.rule import BundleRule

RULE = BundleRule(__name__, "C112", Severity.NOTE, standings=("closed", "open"), added="1.3.0")

UNEXPLAINED_SHARE = 0.05
"""Highest share of low samples without a reason; measured runs have at most 0.003."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    if bundle.declaration.power.locks_sm_clock:
        return
    for uuid, samples in bundle.scored_samples_of.items():
        board = bundle.real_board_of(uuid)
        if board is None or not board.vendor == bundle.vendor_of(uuid) == "NVIDIA":
            continue
        if board.boost_mhz is None:
            continue
        low_mhz = BELOW_BOOST * board.boost_mhz
        explained = have_any_bit(
            samples, POWER_CAP["NVIDIA"] | get_invalid_mask(bundle.protocol, "NVIDIA")
        )
        # A reason that was not read is NaN: W114 reports it.
        unexplained = ~explained & np.isfinite(samples.floats("slowdown"))
        unexplained &= samples.floats("sm_mhz") < low_mhz
        share = unexplained.mean()
        if share > UNEXPLAINED_SHARE:
            yield Violation(
                SAMPLES,
                format_rows(samples, unexplained),
                f"{uuid}: below {low_mhz:.0f} MHz without a reason in {share:.0%} of the scored "
                "samples",
                f"a slowdown reason, or about {board.boost_mhz} MHz",
            )
