"""Too many failed reads

## What it does
Counts, per accelerator, the samples of scored epochs whose power is empty or whose `status` is not
`ok`, and compares their share with the protocol's limit.

## Why it is bad
A failed read is honest, but the trapezoid bridges it. With many of them the energy is guessed, and
a meter that fails under load fails where it matters.

## What to do
Look at `status` for the reason. Usual ones are another tool that holds the driver, and quantities
that need more rights.

## Source
Protocol, section "sampling".
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle_format.records import Evidence
from rules.bundle_format.table import POWER_COLUMNS, SAMPLES, rows
from rules.rule import Bundle, Found, Rule, Severity
from rules.testing.mutations import every, under_load

RULE = Rule("W108", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Found]:
    most = bundle.protocol.max_failed_share
    samples = bundle.scored_samples
    empty = np.isnan(samples.floats("power_mw")) & np.isnan(samples.floats("power_avg_mw"))
    failed = empty | ~samples.text("status").equals("ok")
    if not failed.any():
        return
    of = samples.text("accelerator")
    for accelerator in of.at(failed).distinct():
        own = of.equals(accelerator)
        share = failed[own].mean()
        if share > most:
            reasons = samples.text("status").at(failed & own).to_list()
            yield Found(
                SAMPLES,
                rows(samples, failed & own),
                f"{accelerator}: {100 * share:.1f} % of its scored samples failed, the "
                f"first with {reasons[0]!r}",
                f"at most {100 * most:g} %",
                "Too much of the power is not known. Remove the reason and run again.",
            )


@RULE.mutation()
def every_thirtieth_read_fails(evidence: Evidence) -> None:
    failed = every(30, under_load(evidence))
    evidence.samples.loc[
        failed, [*POWER_COLUMNS, "energy_mj", "cap_mw", "slowdown", "util_pct"]
    ] = np.nan
    evidence.samples.loc[failed, "power_state"] = ""
    evidence.samples.loc[failed, "status"] = "timeout"


@RULE.mutation()
def power_empty_with_status_ok(evidence: Evidence) -> None:
    evidence.samples.loc[every(25, under_load(evidence)), list(POWER_COLUMNS)] = np.nan
