"""Readings left out that the board gives

## What it does
Looks, on the NVIDIA boards that the rule book knows, for quantities that are empty in more than 1 %
of the scored samples that succeeded: the SM clock, the reasons that hold it down (`slowdown`), the
cap in force and the power state, and on those boards whose driver is known to give it (H100, H200)
instantaneous power. An empty counter is E106, a failed sample W108.

## Why it is bad
Clock, reasons and cap say whether the power can be true: C106, C111, W119 and the statistics of
docs/forensics.md need them. Who leaves out what the driver always gives leaves the rest unchecked.
Seventeen measured runs of H200s have all in every sample.

## What to do
Hand in the samples as the meter took them. Where a driver really lacks one, run with another
driver, or declare the run open.

## Source
NVML API reference, device queries and field values; `harness/power/sources/nvidia.py`.
"""

from collections.abc import Callable, Iterator

import numpy as np

from rules.boards import Board
from rules.bundle import Bundle
from rules.bundle_format.records import TEXT_COLUMNS
from rules.bundle_format.table import SAMPLES, rows
from rules.finding import Severity, Violation
from rules.metrics.readings import has_power
from rules.rule import BundleRule

RULE = BundleRule(__name__, "W114", Severity.ERROR, standings=("closed",), added="1.3.0")

ALWAYS = ("sm_mhz", "slowdown", "cap_mw", "power_state")


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    def wanted(known: Board) -> tuple[str, ...]:
        return ALWAYS + ("power_mw",) * known.instant if known.vendor == "NVIDIA" else ()

    for found in left_out(bundle, wanted):
        message = (
            "The driver gives it, and what the power is checked against rests on it. Hand in "
            "the samples as they were read."
        )
        yield Violation(SAMPLES, *found, message)


def left_out(
    bundle: Bundle, wanted: Callable[[Board], tuple[str, ...]]
) -> Iterator[tuple[str, str, str]]:
    """Rows, what was found and what was expected, for each quantity `wanted` of a real, known board
    that is often empty."""
    for accelerator, own in bundle.scored_samples_of.items():
        known = bundle.real_board_of(accelerator)
        gappy = (
            [column for column in wanted(known) if bundle.samples.has_gaps(column)] if known else []
        )
        if known is None or not gappy:
            continue
        read = own.text("status").equals("ok") & has_power(own)  # others are W108's
        for column in gappy if read.any() else ():
            text = column in TEXT_COLUMNS
            empty = read & (own.text(column).equals("") if text else np.isnan(own.floats(column)))
            share = empty.sum() / read.sum()
            if share > bundle.protocol.max_failed_share:
                found = f"{accelerator}: no {column} in {100 * share:.1f} % of its scored samples"
                yield (
                    rows(own, empty),
                    found,
                    f"what the driver of {known.id} gives, in every sample",
                )
