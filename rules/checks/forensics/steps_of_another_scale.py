"""The steps of the power readings have another size than those of the board

## What it does
Determines the step of each H200's sensor: the most frequent distance between neighbouring values of
the readings under load, among distances of 60 to 800 mW. The step must lie between 312 and 334 mW.
If no distance is frequent (fewer than 30 within 6 mW), the rule does not apply.

## Why it is bad
Scaled readings are not the power that the board drew.

It is a note. All accelerators measured so far have a step of 320 to 324 mW, at any power. Scaled
readings have a scaled step, even if all figures were derived again: halved readings have 161 mW.
But another driver or another revision of the board may have other steps.

## What to do
Submit the values that the meter read. If the meter really read these values, tell the reviewer the
board, the firmware and the driver.

## Source
The measured bundles of this project, driver 580.159 (docs/forensics.md).
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES
from rules.finding import Severity, Violation
from rules.metrics.power_series import select_distinct
from rules.rule import BundleRule

RULE = BundleRule(
    __name__, "W121", Severity.NOTE, standings=("closed", "open"), added="1.3.0", statistical=True
)

STEPS_MW = (312.0, 334.0)
"""Range of plausible steps; measured boards have 320 to 324 mW (docs/forensics.md)."""
DISTANCES_MW = (60, 800)
"""Range of the distances among which the step is sought."""
WIDTH_MW = 6
"""Width of the range of distances that count as one step."""
MIN_STEPS = 30


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    low_mw, high_mw = STEPS_MW
    for series in bundle.measured_series:
        step_mw = find_step_mw(series.ordered_mw)
        if step_mw is not None and not low_mw <= step_mw <= high_mw:
            yield Violation(
                SAMPLES,
                series.place,
                f"{series.accelerator}: steps of {step_mw:.0f} mW",
                f"steps of {low_mw:.0f} to {high_mw:.0f} mW, as on other boards of the model",
            )


def find_step_mw(ordered_mw: NDArray[np.int64]) -> float | None:
    """The most frequent distance in mW between neighbouring readings; None if none is frequent.

    `ordered_mw` are readings in mW in ascending order, shape (n,).
    """
    distances = np.diff(select_distinct(ordered_mw))
    distances = distances[(distances >= DISTANCES_MW[0]) & (distances <= DISTANCES_MW[1])]
    # Readings are rounded to milliwatts, so the distances of one step scatter over a few values.
    # Count them in a window.
    counts = np.convolve(
        np.bincount(distances, minlength=DISTANCES_MW[1] + 1),
        np.ones(WIDTH_MW, dtype=np.int64),
        mode="valid",
    )
    first = int(counts.argmax())
    # Readings with few neighbours one step apart do not determine the step.
    if counts[first] < MIN_STEPS:
        return None
    near = distances[(distances >= first) & (distances < first + WIDTH_MW)]
    return float(np.median(near.astype(np.float64)))
