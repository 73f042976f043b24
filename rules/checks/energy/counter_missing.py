"""The energy counter of the board was not read

## What it does
Computes the share of scored samples without an energy counter on boards that have one, and compares
it with the limit for failed samples (1 %). The counter of GH200 covers the module, so a run may
leave it out.

## Why it is bad
Counter and power samples verify each other. Without the counter nobody can tell whether the samples
are correct. Omitting it is also the easiest way to hide that they are not.

## What to do
Read the counter with every sample. On Volta and later it needs no special privileges.

## Source
Protocol, section "energy of record"; NVML API reference, `nvmlDeviceGetTotalEnergyConsumption`.
"""

from collections.abc import Iterator

import numpy as np

from rules.boards import counter_covers_module
from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES, format_rows
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "E106", Severity.WARNING, standings=("closed", "open", "control"))


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    samples = bundle.scored_samples
    # W108 limits the failed reads, so they do not count here again.
    missing = np.isnan(samples.floats("energy_mj")) & samples.text("status").equals("ok")
    if not missing.any():
        return
    accelerators = samples.text("accelerator")
    for accelerator in accelerators.at(missing).distinct():
        board = bundle.board_of(accelerator)
        # The rule book knows which boards have a counter. An unknown board may have none.
        if board is None or counter_covers_module(bundle.accelerators[accelerator].name):
            continue
        selected = accelerators.equals(accelerator)
        share = missing[selected].mean()
        if share > bundle.protocol.max_failed_share:
            yield Violation(
                SAMPLES,
                format_rows(samples, missing & selected),
                f"{accelerator}: no energy_mj in {100 * share:.1f} % of the scored samples",
                f"the counter of {bundle.accelerators[accelerator].name}, in every sample",
            )
