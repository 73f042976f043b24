"""Counter and power samples that disagree within an epoch

## What it does
Compares, per scored epoch and accelerator, the energy by the hardware counter with the trapezoid
over the power samples. Epochs in which the counter stands still are left to E102.

## Why it is bad
Over a run, errors of single epochs may cancel. An epoch in which the two differ had readings that
were lost or altered.

## What to do
Look at the samples of that epoch, and run again.

## Source
Protocol, section "energy of record".
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES, rows
from rules.finding import Severity, Violation
from rules.metrics.run import agreement, relative_difference
from rules.rule import BundleRule

RULE = BundleRule(__name__, "E104", Severity.ERROR, standings=("closed", "open"))


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    for part in bundle.scored_parts:
        if part.energy_j_counter is None or part.energy_j_counter <= 0:
            continue
        apart = relative_difference(part.energy_j_counter, part.energy_j_trapezoid)
        most = agreement(bundle.protocol, part.averaged).epoch
        if abs(apart) > most:
            yield Violation(
                SAMPLES,
                rows(part.samples, np.ones(len(part.samples), dtype=bool))
                if len(part.samples)
                else "",
                f"epoch {part.epoch}, {part.accelerator}: the power samples give "
                f"{100 * apart:+.2f} % of the counter's energy",
                f"within {100 * most:g} %",
                "Readings of this epoch were lost or altered. Look at its samples, and run again.",
            )
