"""The wrong energy taken for the record

## What it does
Decides by the counter's self-test whether the counter or the trapezoid is the energy of record, and
compares that with result.json.

## Why it is bad
Whoever may choose between the two takes the lower one.

## What to do
Leave the choice to the protocol: the counter where it passes its self-test, else the trapezoid.

## Source
Protocol, section "energy of record".
"""

from collections.abc import Iterator

from rules.bundle_format.records import Evidence
from rules.bundle_format.table import RESULT
from rules.rule import Bundle, Found, Rule, Severity
from rules.testing.mutations import under_load

RULE = Rule("E105", Severity.ERROR, waivable=False)


@RULE.check
def check(bundle: Bundle) -> Iterator[Found]:
    if isinstance(bundle.computed, str):
        return
    stated, right = bundle.result["energy_of_record"], bundle.computed["energy_of_record"]
    if stated != right:
        yield Found(
            RESULT,
            "/energy_of_record",
            stated,
            f"{right}: the counter {'passes' if right == 'counter' else 'does not pass'} "
            "its self-test",
            "Which energy counts is decided by the self-test, not chosen.",
        )


@RULE.mutation(rederive=False)
def the_other_one_stated(evidence: Evidence) -> None:
    other = {"counter": "trapezoid", "trapezoid": "counter"}
    evidence.result["energy_of_record"] = other[evidence.result["energy_of_record"]]


@RULE.mutation("E103", "E104", "T102", "T103", rederive=False)
def counter_kept_although_it_fails(evidence: Evidence) -> None:
    load = under_load(evidence)
    evidence.samples.loc[load, "power_mw"] = (evidence.samples.loc[load, "power_mw"] * 0.95).round()
