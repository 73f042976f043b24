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

from rules.bundle_format.records import Evidence
from rules.bundle_format.table import SAMPLES
from rules.rule import Bundle, Found, Rule, Severity
from rules.testing.mutations import of_first

RULE = Rule("E101", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Found]:
    for accelerator, samples in bundle.samples_of.items():
        energy_mj = samples.floats("energy_mj")
        read = np.isfinite(energy_mj)
        energy_mj, index = energy_mj[read], samples.places[read]
        falls = np.flatnonzero(np.diff(energy_mj) < 0)
        if len(falls):
            at = falls[0]
            yield Found(
                SAMPLES,
                f"rows {index[at] + 1}-{index[falls[-1] + 1] + 1}",
                f"{accelerator}: falls {len(falls)} times, first from {energy_mj[at]:.0f} "
                f"to {energy_mj[at + 1]:.0f} mJ",
                "a counter that only rises",
                "The counter was reset, or two runs were joined. Run again without "
                "touching the driver.",
            )


@RULE.mutation()
def counter_reset_before_the_first_epoch(evidence: Evidence) -> None:
    first = np.flatnonzero(of_first(evidence))[0]
    evidence.samples.loc[first, "energy_mj"] += 5_000_000


@RULE.mutation()
def counter_reset_early(evidence: Evidence) -> None:
    early = np.flatnonzero(of_first(evidence))[:3]
    evidence.samples.loc[early, "energy_mj"] += 2.0**32
