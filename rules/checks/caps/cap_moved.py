"""A power cap that is not the declared one

## What it does
Compares the cap in force, as every readback and every scored sample has it, with the declared cap.

## Why it is bad
A run is compared at its cap. One that ran at another cap, or at two, belongs nowhere in the
comparison.

## What to do
Let `bench-submit run --cap` set the cap, and keep others from changing it (job prologues and power
managers do). Without the right to set it, leave `--cap` out: the cap that is in force is then
declared.

## Source
Protocol, section "caps".
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle_format.records import Evidence
from rules.bundle_format.table import RESULT, SAMPLES, offenders
from rules.rule import Bundle, Found, Rule, Severity
from rules.testing.mutations import under_load

RULE = Rule("C101", Severity.ERROR)

ROUNDING_MW = 1.0


@RULE.check
def check(bundle: Bundle) -> Iterator[Found]:
    cap_w = bundle.result["power"]["cap_w"]
    if cap_w is None:
        return
    expected = f"{cap_w:g} W, as /power/cap_w declares"
    message = (
        "The cap changed, or was never the declared one. Declare the cap in force and keep it; "
        "run again."
    )
    for place, readback in enumerate(bundle.result["readbacks"]):
        enforced_mw = readback["enforced_mw"]
        if enforced_mw is not None and abs(enforced_mw - 1e3 * cap_w) > ROUNDING_MW:
            found = f"{readback['when']}, {readback['accelerator']}: {enforced_mw / 1e3:g} W"
            yield Found(RESULT, f"/readbacks/{place}/enforced_mw", found, expected, message)
    samples = bundle.scored_samples
    cap_mw = samples.floats("cap_mw")
    moved = np.abs(cap_mw - 1e3 * cap_w) > ROUNDING_MW
    for accelerator, where, count in offenders(samples, moved):
        found = (
            f"{accelerator}: {count} samples with another cap, such as {cap_mw[moved][0] / 1e3:g} W"
        )
        yield Found(SAMPLES, where, found, expected, message)


@RULE.mutation()
def cap_raised_during_the_run(evidence: Evidence) -> None:
    evidence.samples.loc[under_load(evidence, 4, 5, 6), "cap_mw"] += 50_000


@RULE.mutation()
def another_cap_read_back_after_an_epoch(evidence: Evidence) -> None:
    readback = next(r for r in evidence.result["readbacks"] if r["when"] == "epoch-5")
    readback["requested_mw"] = readback["enforced_mw"] = readback["enforced_mw"] - 100_000
