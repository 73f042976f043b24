"""Counter and power samples of a demo run disagree

## What it does
Compares, per accelerator and over all scored epochs of a demo run, the energy of the hardware
counter with the trapezoid over the power samples. Demo epochs may be short, so the limit is higher
than that of the protocol: a counter value is up to one sample old at the beginning and at the end,
so the energy of the longest interval between two samples is added to the limit. If the board only
has averaged power, this interval is at least the second over which it averages. As in E104, the
limit is wider if power varies between samples.

A board without a counter is skipped. E102, E103 and E104 apply to closed and open runs.

## Why it is bad
The counter fails its self-test, so the energy of record is the trapezoid, and one of the two is
wrong. It is a warning, because a demo is never compared.

## What to do
Find out which of the two is wrong before you measure on that board: usual causes are drifting
readings and a counter that is stuck. If the run took only some seconds, repeat it with longer
epochs.

## Source
Protocol, section "energy of record"; docs/measurement.md, "the refresh of the counter".
"""

import math
from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES
from rules.finding import Severity, Violation
from rules.metrics.run import agreement, relative_difference, widen_limit
from rules.rule import BundleRule

RULE = BundleRule(__name__, "E107", Severity.WARNING, standings=("demo",), added="1.2.0")

AVERAGING_S = 1.0
"""The time over which boards average their power."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    for accelerator in dict.fromkeys(part.accelerator for part in bundle.scored_parts):
        parts = [part for part in bundle.scored_parts if part.accelerator == accelerator]
        counters_j = [p.energy_j_counter for p in parts if p.energy_j_counter is not None]
        # E106 reports a missing counter.
        if not counters_j:
            continue
        difference = relative_difference(
            math.fsum(counters_j), math.fsum(part.energy_j_trapezoid for part in parts)
        )
        averaged = parts[0].averaged
        # The counter is up to one sample old at both ends. The two errors have opposite signs, so
        # the difference is at most the energy of one interval.
        age_s = max(_find_longest_interval_s(bundle, accelerator), AVERAGING_S if averaged else 0.0)
        active_s = math.fsum(part.active_s for part in parts)
        limit = widen_limit(
            agreement(bundle.protocol, averaged).run, parts, bundle.declaration.rules_version
        )
        limit += age_s / active_s
        if abs(difference) > limit:
            yield Violation(
                SAMPLES,
                "",
                f"{accelerator}: {_format_difference(difference)}",
                f"within {100 * limit:.1f} %",
            )


def _find_longest_interval_s(bundle: Bundle, accelerator: str) -> float:
    read_ns = bundle.samples_of[accelerator].ints("read_ns")
    return float((read_ns[1:] - read_ns[:-1]).max()) / 1e9


def _format_difference(difference: float) -> str:
    if math.isinf(difference):
        return "energy_mj does not rise over the scored epochs"
    return (
        f"the power samples give {100 * difference:+.2f} % of the counter's energy over the "
        "scored epochs"
    )
