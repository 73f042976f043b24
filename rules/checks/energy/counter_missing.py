"""A board's energy counter that was not read

## What it does
Looks for scored samples without an energy counter on boards that are known to have one.

## Why it is bad
Counter and power samples check each other. Where the counter is left out, nobody can tell whether
the samples are right; leaving it out is also the easiest way to hide that they are not.

## What to do
Read the counter with every sample. On Volta and later it needs no special right.

## Source
Protocol, section "energy of record"; NVML API reference, `nvmlDeviceGetTotalEnergyConsumption`.
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES, rows
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "E106", Severity.WARNING, standings=("closed", "open"))


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    samples = bundle.scored_samples
    missing = np.isnan(samples.floats("energy_mj")) & samples.text("status").equals("ok")
    if not missing.any():
        return
    of = samples.text("accelerator")
    for accelerator in of.at(missing).distinct():
        board = bundle.board_of(accelerator)
        share = missing[of.equals(accelerator)].mean()
        if board is not None and share > bundle.protocol.max_failed_share:
            yield Violation(
                SAMPLES,
                rows(samples, missing & of.equals(accelerator)),
                f"{accelerator}: no energy_mj in {100 * share:.1f} % of its scored samples",
                f"the counter that {bundle.accelerators[accelerator].name} has, in every sample",
                "Without the counter the power samples stand unchecked. Read it with every sample.",
            )
