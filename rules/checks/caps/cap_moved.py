"""The power cap in force is not the declared cap

## What it does
Compares the cap in force, as every readback and every scored sample records it, with the declared
cap. A difference of up to 1 mW counts as rounding.

## Why it is bad
Runs are compared at their cap. A run at another cap, or at two caps, cannot be compared with any
other run.

## What to do
Let `bench-submit run --cap` set the cap, and make sure that no job prologue or power manager
changes it. Without the right to set a cap, omit `--cap`: the harness then declares the cap in
force. Run again.

## Source
Protocol, section "caps".
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT, SAMPLES, find_offenders
from rules.finding import Severity, Violation, format_count
from rules.rule import BundleRule

RULE = BundleRule(__name__, "C101", Severity.ERROR)

ROUNDING_MW = 1.0
"""Drivers round a limit to whole milliwatts."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    # C105 reports a missing cap.
    if bundle.cap_w is None:
        return
    cap_mw = 1e3 * bundle.cap_w
    expected = f"{bundle.cap_w:g} W, as /power/cap_w declares"
    for readback in bundle.readbacks:
        enforced_mw = readback.enforced_mw
        if enforced_mw is not None and abs(enforced_mw - cap_mw) > ROUNDING_MW:
            observed = f"{readback.accelerator}: {enforced_mw / 1e3:g} W ({readback.when})"
            yield Violation(RESULT, f"{readback.pointer}/enforced_mw", observed, expected)
    # Readbacks show the cap between epochs only; the samples show it during them.
    samples = bundle.scored_samples
    sampled_mw = samples.floats("cap_mw")
    # A sample without a cap is NaN and differs from nothing: C107 and W114 report missing caps.
    differs = np.abs(sampled_mw - cap_mw) > ROUNDING_MW
    for accelerator, where, count in find_offenders(samples, differs):
        observed = (
            f"{accelerator}: {format_count(count, 'sample')} with another cap, "
            f"such as {sampled_mw[differs][0] / 1e3:g} W"
        )
        yield Violation(SAMPLES, where, observed, expected)
