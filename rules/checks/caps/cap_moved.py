"""A power cap that is not the declared one

## What it does
Compares the cap in force, as every readback and every scored sample has it, with the declared cap.

## Why it is bad
A run is compared at its cap. One that ran at another cap, or at two, belongs nowhere in the
comparison.

## What to do
Let `bench-submit run --cap` set the cap, and keep others from changing it (job prologues and power
managers do). Without the right to set it, leave `--cap` out: the cap that is in force is then
declared.

## Source
Protocol, section "caps".
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT, SAMPLES, offenders
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "C101", Severity.ERROR)

ROUNDING_MW = 1.0


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    cap_w = bundle.result["power"]["cap_w"]
    if cap_w is None:
        return
    expected = f"{cap_w:g} W, as /power/cap_w declares"
    message = (
        "The cap changed, or was never the declared one. Declare the cap in force and keep it; "
        "run again."
    )
    for place, readback in enumerate(bundle.result["readbacks"]):
        enforced_mw = readback["enforced_mw"]
        if enforced_mw is not None and abs(enforced_mw - 1e3 * cap_w) > ROUNDING_MW:
            found = f"{readback['when']}, {readback['accelerator']}: {enforced_mw / 1e3:g} W"
            yield Violation(RESULT, f"/readbacks/{place}/enforced_mw", found, expected, message)
    samples = bundle.scored_samples
    cap_mw = samples.floats("cap_mw")
    moved = np.abs(cap_mw - 1e3 * cap_w) > ROUNDING_MW
    for accelerator, where, count in offenders(samples, moved):
        found = (
            f"{accelerator}: {count} samples with another cap, such as {cap_mw[moved][0] / 1e3:g} W"
        )
        yield Violation(SAMPLES, where, found, expected, message)
