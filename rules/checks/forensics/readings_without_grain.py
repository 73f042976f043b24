"""Power readings without the steps of a sensor

## What it does
Looks at the instantaneous readings of each H200 under load, at least 1 000 of them. Other boards
are left alone: none has been measured.

- A sensor has steps: of 3 000 readings of an H200, spread over hundreds of watts and given in
  milliwatts, only 20 to 49 % are different values. The rule counts the different values, and
  speaks where they are more than 85 % of how many there would be if the readings within each 2 W
  fell on any milliwatt alike.
- It also speaks where all readings are whole multiples of 10 mW: they were rounded.

## Why it is bad
Readings that no sensor gave are no evidence.

It is a note. Readings that were made up by a random generator, smoothed, interpolated, jittered or
averaged have no steps. But what the steps are is a matter of board and driver, and only H200s have
been measured: another board may have none. docs/forensics.md has the figures.

## What to do
Hand in what the meter read, unfiltered. If it did read so, tell the reviewer board and driver.

## Source
The measured bundles of this project (docs/forensics.md).
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES
from rules.finding import Severity, Violation
from rules.metrics.power_series import distinct
from rules.rule import BundleRule

RULE = BundleRule(
    __name__, "W120", Severity.NOTE, standings=("closed", "open"), added="1.3.0", statistical=True
)
MOST_SHARE = 0.85
WITHIN_MW = 2000
ROUND_MW = 10


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    for one in bundle.measured_series:
        share = different(one.ordered_mw)
        if not (one.under_load_mw % ROUND_MW).any():
            found = (
                f"{one.accelerator}: all {len(one.under_load_mw)} readings are multiples of "
                f"{ROUND_MW} mW"
            )
        elif share > MOST_SHARE:
            found = (
                f"{one.accelerator}: {share:.0%} as many different values as readings without "
                "steps would have"
            )
        else:
            continue
        message = (
            "Real sensors have steps finer and other than that. Hand in what the meter read, "
            "unfiltered."
        )
        yield Violation(SAMPLES, one.place, found, "readings on the steps of a sensor", message)


def different(ordered_mw: NDArray[np.int64]) -> float:
    """How many values of readings, shape (n,) and in order, differ, as a share of how many would if
    readings within `WITHIN_MW` fell on any of its values alike."""
    within = (ordered_mw - ordered_mw[0]) // WITHIN_MW
    counts = np.diff(np.flatnonzero(np.diff(within)), prepend=-1, append=len(within) - 1)
    expected = WITHIN_MW * (1 - (1 - 1 / WITHIN_MW) ** counts)
    return float(len(distinct(ordered_mw)) / expected.sum())
