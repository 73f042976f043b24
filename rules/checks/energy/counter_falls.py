"""The energy counter decreases

## What it does
Checks that the energy counter of every accelerator never decreases during the run.

## Why it is bad
The counter was reset by a driver reload or overflowed, or two runs were joined. Energies over that
instant are wrong.

## What to do
Run again, and make sure that nobody reloads the driver or resets the board during the run.

## Source
NVML API reference, `nvmlDeviceGetTotalEnergyConsumption`: energy since the driver was last
reloaded.
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "E101", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    for accelerator, samples in bundle.samples_of.items():
        energy_mj = samples.floats("energy_mj")
        read = np.isfinite(energy_mj)
        # Compare across failed reads: a counter that falls during a gap falls too.
        energy_mj, places = energy_mj[read], samples.places[read]
        decreases = np.flatnonzero(np.diff(energy_mj) < 0)
        if len(decreases):
            first, last = decreases[0], decreases[-1]
            yield Violation(
                SAMPLES,
                f"rows {places[first] + 1}-{places[last + 1] + 1}",
                f"{accelerator}: decreases {len(decreases)} times, first from "
                f"{energy_mj[first]:.0f} to {energy_mj[first + 1]:.0f} mJ",
                "a counter that never decreases",
            )
