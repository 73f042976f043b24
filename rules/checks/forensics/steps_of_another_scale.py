"""Power readings on steps of another size than the board's

## What it does
Finds the step of each H200's sensor: the most frequent distance between neighbouring values of its
readings under load, of those between 60 and 800 mW. It speaks where the step is not between 312 and
334 mW. Where no distance is frequent (fewer than 30 of them within 6 mW), there is nothing to say.

## Why it is bad
Scaled readings are not what the board drew.

It is a note. All accelerators measured so far have a step of 320 to 324 mW, at any power. Readings
that were scaled have a scaled step, whatever was derived from them anew: halved ones 161 mW. But
another driver or another revision of the board may have other steps.

## What to do
Hand in what the meter read. If it did read so, tell the reviewer board, firmware and driver.

## Source
The measured bundles of this project, driver 580.159 (docs/forensics.md).
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES
from rules.finding import Severity, Violation
from rules.metrics.intervals import median
from rules.metrics.power_series import distinct
from rules.rule import BundleRule

RULE = BundleRule(
    __name__, "W121", Severity.NOTE, standings=("closed", "open"), added="1.3.0", statistical=True
)
STEPS_MW = (312.0, 334.0)
WITHIN_MW = (60, 800)
WIDTH_MW = 6
ENOUGH_STEPS = 30


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    for one in bundle.measured_series:
        low, high = STEPS_MW
        found_mw = step_mw(one.ordered_mw)
        if found_mw is not None and not low <= found_mw <= high:
            found = f"{one.accelerator}: steps of {found_mw:.0f} mW"
            message = "Readings that were scaled have scaled steps. Hand in what the meter read."
            yield Violation(
                SAMPLES,
                one.place,
                found,
                f"steps of {low:.0f} to {high:.0f} mW, as other boards of the kind",
                message,
            )


def step_mw(ordered_mw: NDArray[np.int64]) -> float | None:
    """The most frequent distance in mW between neighbouring values of readings, shape (n,) and in
    order; None for none."""
    distances = np.diff(distinct(ordered_mw))
    distances = distances[(distances >= WITHIN_MW[0]) & (distances <= WITHIN_MW[1])]
    near = np.convolve(
        np.bincount(distances, minlength=WITHIN_MW[1] + 1),
        np.ones(WIDTH_MW, dtype=np.int64),
        mode="valid",
    )
    first = int(near.argmax())
    if near[first] < ENOUGH_STEPS:
        return None
    return median(
        distances[(distances >= first) & (distances < first + WIDTH_MW)].astype(np.float64)
    )
