"""Counter and power samples disagree over the run

## What it does
Compares, per accelerator and over all scored epochs, the energy of the hardware counter with the
trapezoid over the power samples. The limit is 1 % of the counter's energy, and 2 % on boards that
only have averaged power. If power varies between instantaneous samples, it is wider, as in E104.
E102 reports epochs in which the counter does not advance. The counter of GH200 covers the module
and not the GPU alone, so it is compared with nothing.

## Why it is bad
Two measurements of the same energy differ by more than their errors: one of them is wrong, or was
edited.

## What to do
Find out which of the two is wrong, and run again. Usual causes are a scaled column, the counter of
another board and a wrong unit. Do not adjust one to the other.

## Source
Protocol, section "energy of record".
"""

import math
from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES
from rules.finding import Severity, Violation
from rules.metrics.run import agreement, relative_difference, widen_limit
from rules.rule import BundleRule

RULE = BundleRule(__name__, "E103", Severity.ERROR, standings=("closed", "open", "control"))


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    for accelerator in dict.fromkeys(part.accelerator for part in bundle.scored_parts):
        parts = [
            part
            for part in bundle.scored_parts
            # Epochs without an advancing counter would make the two sums cover different times.
            if part.accelerator == accelerator and part.energy_j_counter
        ]
        if not parts:
            continue
        difference = relative_difference(
            math.fsum(part.energy_j_counter or 0.0 for part in parts),
            math.fsum(part.energy_j_trapezoid for part in parts),
        )
        limit = widen_limit(
            agreement(bundle.protocol, parts[0].averaged).run,
            parts,
            bundle.declaration.rules_version,
        )
        if abs(difference) > limit:
            yield Violation(
                SAMPLES,
                "",
                f"{accelerator}: the power samples give {100 * difference:+.2f} % of the "
                "counter's energy over the run",
                f"within {100 * limit:.3g} %",
            )
