"""An energy counter that stands still under load

## What it does
Looks for scored epochs in which the energy counter of an accelerator does not advance.

## Why it is bad
A board that works uses energy. A counter that stands still hides it; and a run that hands in such a
counter was not looked at.

## What to do
Reload the driver and run again. If the board has no working counter, leave `energy_mj` empty.

## Source
Protocol, section "energy of record": the counter's self-test.
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle_format.records import Evidence
from rules.bundle_format.table import SAMPLES
from rules.rule import Bundle, Found, Rule, Severity
from rules.testing.mutations import last_epoch, of_first, under_load

RULE = Rule("E102", Severity.ERROR, standings=("closed", "open"))


@RULE.check
def check(bundle: Bundle) -> Iterator[Found]:
    frozen: dict[str, list[int]] = {}
    for part in bundle.scored_parts:
        if part.counter_j == 0:
            frozen.setdefault(part.accelerator, []).append(part.epoch)
    for accelerator, epochs in frozen.items():
        yield Found(
            SAMPLES,
            "",
            f"{accelerator}: energy_mj does not advance in epochs {', '.join(map(str, epochs))}",
            "a counter that advances while the board works",
            "The counter is stuck. Reload the driver and run again, or leave energy_mj empty.",
        )


@RULE.mutation()
def counter_stands_still(evidence: Evidence) -> None:
    evidence.samples.loc[of_first(evidence), "energy_mj"] = evidence.samples.loc[
        of_first(evidence), "energy_mj"
    ].min()


@RULE.mutation()
def counter_gets_stuck(evidence: Evidence) -> None:
    own = np.flatnonzero(of_first(evidence))
    begin = np.flatnonzero(under_load(evidence, last_epoch(evidence)))[0]
    after = own[np.searchsorted(own, begin) - 1 :]  # from the last sample before the epoch on
    evidence.samples.loc[after, "energy_mj"] = evidence.samples.loc[after[0], "energy_mj"]
