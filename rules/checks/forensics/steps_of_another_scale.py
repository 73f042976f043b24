"""The steps of the power readings have another size than those of the board

## What it does
Determines the step of each H200's sensor from the distances between all readings under load: the
smallest distance of 60 to 800 mW that has at least 70 % as many pairs as the most frequent one. The
step must lie between 312 and 334 mW. If no distance is frequent (fewer than 30 pairs within 6 mW),
the rule does not apply.

## Why it is bad
Scaled readings are not the power that the board drew.

It is a note. All accelerators measured so far have a step of 319 to 328 mW, at any power. Scaled
readings have a scaled step, even if all figures were derived again: halved readings have 161 mW.
But another driver or another revision of the board may have other steps.

## What to do
Submit the values that the meter read. If the meter really read these values, tell the reviewer the
board, the firmware and the driver.

## Source
The measured bundles of this project, driver 580.159 (docs/forensics.md).
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES
from rules.copies.readings import STEPS_MW, find_step_mw
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(
    __name__, "W121", Severity.NOTE, standings=("closed", "open"), added="1.3.0", statistical=True
)


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
