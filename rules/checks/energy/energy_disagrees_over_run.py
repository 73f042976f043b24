"""Counter and power samples that disagree over the run

## What it does
Compares, per accelerator and over all scored epochs, the energy by the hardware counter with the
trapezoid over the power samples. Epochs in which the counter stands still are left to E102.

## Why it is bad
Two ways of measuring the same energy differ by more than their errors: one of them is wrong, or was
edited.

## What to do
Find out which one. A scaled column, another board's counter and a unit are the usual reasons.

## Source
Protocol, section "energy of record".
"""

import math
from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES
from rules.finding import Severity, Violation
from rules.metrics.run import agreement, relative_difference
from rules.rule import BundleRule

RULE = BundleRule(__name__, "E103", Severity.ERROR, standings=("closed", "open"))


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    for accelerator in dict.fromkeys(p.accelerator for p in bundle.scored_parts):
        own = [
            p for p in bundle.scored_parts if p.accelerator == accelerator and p.energy_j_counter
        ]
        if not own:
            continue
        apart = relative_difference(
            math.fsum(p.energy_j_counter or 0.0 for p in own),
            math.fsum(p.energy_j_trapezoid for p in own),
        )
        most = agreement(bundle.protocol, own[0].averaged).run
        if abs(apart) > most:
            yield Violation(
                SAMPLES,
                "",
                f"{accelerator}: the power samples give {100 * apart:+.2f} % of the "
                "counter's energy over the run",
                f"within {100 * most:g} %",
                "One of the two is wrong. Find out which, and run again; do not adjust one "
                "to the other.",
            )
