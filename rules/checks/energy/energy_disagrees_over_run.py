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

from rules.bundle_format.records import Evidence
from rules.bundle_format.table import SAMPLES
from rules.metrics.run import agreement, difference
from rules.rule import Bundle, Found, Rule, Severity
from rules.testing.mutations import of_first, protocol

RULE = Rule("E103", Severity.ERROR, standings=("closed", "open"))


@RULE.check
def check(bundle: Bundle) -> Iterator[Found]:
    for accelerator in dict.fromkeys(p.accelerator for p in bundle.scored_parts):
        own = [p for p in bundle.scored_parts if p.accelerator == accelerator and p.counter_j]
        if not own:
            continue
        apart = difference(
            math.fsum(p.counter_j or 0.0 for p in own), math.fsum(p.trapezoid_j for p in own)
        )
        most = agreement(bundle.protocol, own[0].averaged).run
        if abs(apart) > most:
            yield Found(
                SAMPLES,
                "",
                f"{accelerator}: the power samples give {100 * apart:+.2f} % of the "
                "counter's energy over the run",
                f"within {100 * most:g} %",
                "One of the two is wrong. Find out which, and run again; do not adjust one "
                "to the other.",
            )


def _scale_counter(evidence: Evidence, sign: int) -> None:
    own = of_first(evidence)
    averaged = bool(evidence.samples.loc[own, "power_mw"].isna().all())
    limits = agreement(protocol(evidence), averaged)
    energy_mj = evidence.samples.loc[own, "energy_mj"]
    factor = 1 + sign * (limits.run + limits.epoch) / 2
    evidence.samples.loc[own, "energy_mj"] = (
        energy_mj.min() + (energy_mj - energy_mj.min()) * factor
    ).round()


@RULE.mutation()
def counter_runs_slow(evidence: Evidence) -> None:
    _scale_counter(evidence, -1)


@RULE.mutation()
def counter_runs_fast(evidence: Evidence) -> None:
    _scale_counter(evidence, 1)
