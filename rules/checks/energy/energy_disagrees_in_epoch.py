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

from rules.bundle_format.records import Evidence
from rules.bundle_format.table import POWER_COLUMNS, SAMPLES, rows
from rules.metrics.run import agreement, difference
from rules.rule import Bundle, Found, Rule, Severity
from rules.testing.mutations import protocol, under_load

RULE = Rule("E104", Severity.ERROR, standings=("closed", "open"))


@RULE.check
def check(bundle: Bundle) -> Iterator[Found]:
    for part in bundle.scored_parts:
        if part.counter_j is None or part.counter_j <= 0:
            continue
        apart = difference(part.counter_j, part.trapezoid_j)
        most = agreement(bundle.protocol, part.averaged).epoch
        if abs(apart) > most:
            yield Found(
                SAMPLES,
                rows(part.samples, np.ones(len(part.samples), dtype=bool))
                if len(part.samples)
                else "",
                f"epoch {part.epoch}, {part.accelerator}: the power samples give "
                f"{100 * apart:+.2f} % of the counter's energy",
                f"within {100 * most:g} %",
                "Readings of this epoch were lost or altered. Look at its samples, and run again.",
            )


def _scale_power(evidence: Evidence, epoch: int) -> None:
    load = under_load(evidence, epoch)
    averaged = bool(evidence.samples.loc[load, "power_mw"].isna().all())
    factor = 1 - 1.5 * agreement(protocol(evidence), averaged).epoch
    evidence.samples.loc[load, list(POWER_COLUMNS)] = (
        evidence.samples.loc[load, list(POWER_COLUMNS)] * factor
    ).round()


@RULE.mutation()
def power_of_one_epoch_lowered(evidence: Evidence) -> None:
    _scale_power(evidence, 3)


@RULE.mutation()
def power_of_two_epochs_lowered(evidence: Evidence) -> None:
    _scale_power(evidence, 2)
    _scale_power(evidence, 9)
