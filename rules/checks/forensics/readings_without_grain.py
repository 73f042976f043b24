"""Power readings without the steps of a sensor

## What it does
Examines the instantaneous readings of each H200 under load, at least 1 000 of them. Other boards
are skipped, because none has been measured.

- A sensor has steps: of 3 000 readings of an H200, which spread over hundreds of watts and are
  given in milliwatts, only 20 to 49 % are different values. The rule counts the different values,
  and compares them with the number that would be expected if the readings within each 2 W were
  equally likely to have any value in milliwatts. The limit is 85 %.
- The rule also reports readings that are all multiples of 10 mW, because they were rounded.

## Why it is bad
Readings that do not come from a sensor are no evidence.

It is a note. Readings that were generated, smoothed, interpolated, averaged or disturbed with noise
have no steps. But the steps depend on board and driver, and only H200s have been measured: another
board may have none. docs/forensics.md gives the figures.

## What to do
Submit the values that the meter read, without filtering. If the meter really read these values,
tell the reviewer the board and the driver.

## Source
The measured bundles of this project (docs/forensics.md).
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES
from rules.finding import Severity, Violation
from rules.metrics.power.series import select_distinct
from rules.rule import BundleRule

RULE = BundleRule(
    __name__, "W120", Severity.NOTE, standings=("closed", "open"), added="1.3.0", statistical=True
)

MAX_SHARE = 0.85
"""Highest plausible number of different values, as a share of the number without steps; measured
boards have 0.20 to 0.49 (docs/forensics.md)."""
BIN_MW = 2000
"""Width of the bins in which readings without steps would be equally likely, in mW."""
ROUNDED_MW = 10


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    for series in bundle.measured_series:
        share = compute_distinct_share(series.ordered_mw)
        if not (series.under_load_mw % ROUNDED_MW).any():
            count = len(series.under_load_mw)
            observed = f"all {count} readings are multiples of {ROUNDED_MW} mW"
        elif share > MAX_SHARE:
            observed = f"{share:.0%} of the different values that readings without steps would have"
        else:
            continue
        yield Violation(
            SAMPLES,
            series.place,
            f"{series.accelerator}: {observed}",
            "readings on the steps of a sensor",
        )


def compute_distinct_share(ordered_mw: NDArray[np.int64]) -> float:
    """The number of different readings, as a share of the number that is expected without steps.

    `ordered_mw` are readings in mW in ascending order, shape (n,).
    """
    # Within 2 W the density of the readings is nearly even, over the whole range it is not.
    bins = (ordered_mw - ordered_mw[0]) // BIN_MW
    counts = np.diff(np.flatnonzero(np.diff(bins)), prepend=-1, append=len(bins) - 1)
    # The expected number of different values if n readings fall evenly on BIN_MW values.
    expected = BIN_MW * (1 - (1 - 1 / BIN_MW) ** counts)
    return float(len(select_distinct(ordered_mw)) / expected.sum())
