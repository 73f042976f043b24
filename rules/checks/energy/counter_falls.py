"""An energy counter that falls

## What it does
Asks that the energy counter of every accelerator never falls during the run.

## Why it is bad
The counter was reset by a driver reload or overflowed, or two runs were joined. Differences over
that instant are wrong.

## What to do
Run again, and let nobody reload the driver or reset the board meanwhile.

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
        energy_mj, index = energy_mj[read], samples.places[read]
        falls = np.flatnonzero(np.diff(energy_mj) < 0)
        if len(falls):
            at = falls[0]
            yield Violation(
                SAMPLES,
                f"rows {index[at] + 1}-{index[falls[-1] + 1] + 1}",
                f"{accelerator}: falls {len(falls)} times, first from {energy_mj[at]:.0f} "
                f"to {energy_mj[at + 1]:.0f} mJ",
                "a counter that only rises",
                "The counter was reset, or two runs were joined. Run again without "
                "touching the driver.",
            )
