"""Counter and power samples disagree in an epoch

## What it does
Compares, per scored epoch and accelerator, the energy of the hardware counter with the trapezoid
over the power samples. The limit is 2 % of the counter's energy, and 5 % on boards that only have
averaged power. From rule book 1.9.0 on, it is wider if power varies between instantaneous samples:
the limit and three standard errors of their mean are added as independent errors. E102 reports
epochs in which the counter does not advance.

## Why it is bad
Over a run, errors of single epochs may cancel. In an epoch in which the two differ, readings were
lost or altered.

## What to do
Examine the samples of that epoch, and run again.

## Source
Protocol, section "energy of record". Sampling error: a server over four H200s whose power varies
between 120 and 840 W (standard deviation 190 W, mean 475 W) has differences of 1.7 to 2.4 % (root
mean square of the epochs of a board), and 2.2 to 2.3 % by the standard error of 310 samples.
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES, format_rows
from rules.finding import Severity, Violation
from rules.metrics.run import agreement, relative_difference, widen_limit
from rules.rule import BundleRule

RULE = BundleRule(__name__, "E104", Severity.ERROR, standings=("closed", "open", "control"))


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    rules_version = bundle.declaration.rules_version
    for part in bundle.scored_parts:
        # E102 reports a counter that does not advance, and E106 one that was not read.
        if part.energy_j_counter is None or part.energy_j_counter <= 0:
            continue
        difference = relative_difference(part.energy_j_counter, part.energy_j_trapezoid)
        # The limit is wider than over the run: errors at the edges of an epoch have not averaged
        # out.
        limit = agreement(bundle.protocol, part.averaged).epoch
        limit = widen_limit(limit, [part], rules_version)
        if abs(difference) > limit:
            count = len(part.samples)
            yield Violation(
                SAMPLES,
                format_rows(part.samples, np.ones(count, dtype=bool)) if count else "",
                f"epoch {part.epoch}, {part.accelerator}: the power samples give "
                f"{100 * difference:+.2f} % of the counter's energy",
                f"within {100 * limit:.3g} %",
            )
