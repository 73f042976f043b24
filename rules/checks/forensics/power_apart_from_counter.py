"""Power readings that do not follow the energy counter

## What it does
Correlates, for each H200 under load, each instantaneous reading with what the energy counter adds
in the intervals around it, one sample earlier to one later. Intervals in which the counter did not
advance, or advanced twice, are left out. It speaks where no correlation reaches 0.08 in magnitude.
Other boards are left alone: none has been measured.

## Why it is bad
Readings and counter are not of the same run, and that they agree over the run (E103) was arranged.

It is a note. Counter and readings see the same power, so an interval with more energy has a higher
reading near it: on the measured boards the correlation is 0.15 to 0.70. Readings that were made up,
shuffled or taken from another run keep the mean and lose this. It is a statistic of few boards, and
one with very even power would fail it.

## What to do
Hand in what the meter read, all columns of one reading together.

## Source
The measured bundles of this project (docs/forensics.md).
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES
from rules.finding import Severity, Violation
from rules.metrics.intervals import median
from rules.metrics.power_series import Series, lagged
from rules.rule import BundleRule

RULE = BundleRule(
    __name__, "E121", Severity.NOTE, standings=("closed", "open"), added="1.3.0", statistical=True
)
LEAST = 0.08
NORMAL = (0.5, 1.5)
"""Of the median: what the counter adds where it advanced once."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    for one in bundle.measured_series:
        found = with_counter(one)
        if found is not None and abs(found) < LEAST:
            told = (
                f"{one.accelerator}: a correlation of power_mw and the steps of energy_mj of "
                f"{abs(found):.2f} at most"
            )
            message = (
                "Readings and counter are not of the same run. Hand in what the meter read, "
                "all columns together."
            )
            yield Violation(SAMPLES, one.place, told, f"at least {LEAST}", message)


def with_counter(one: Series) -> float | None:
    """The largest correlation of readings and steps of the counter at any of the lags; None where
    there is nothing to ask."""
    added_w = np.concatenate(([np.nan], one.counted_w))[one.load]
    finite = added_w[np.isfinite(added_w)]
    if not len(finite):
        return None
    middle = median(finite)
    added_w = np.where(
        (added_w > NORMAL[0] * middle) & (added_w < NORMAL[1] * middle), added_w, np.nan
    )
    return lagged(one.under_load_w, added_w, 1)
