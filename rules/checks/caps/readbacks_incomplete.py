"""Missing readbacks of cap and state

## What it does
Asks for one readback of every accelerator before the run, after every epoch and at the end, each
with the cap in force where a cap is declared.

## Why it is bad
A cap that is read back only when it was right proves nothing.

## What to do
Hand in all readbacks, as `bench-submit` takes them.

## Source
Protocol, section "caps".
"""

from collections.abc import Iterator

from rules.bundle_format.records import Evidence
from rules.bundle_format.table import RESULT
from rules.rule import Bundle, Found, Rule, Severity
from rules.testing.mutations import first_accelerator

RULE = Rule("C107", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Found]:
    wanted = ["before", *(f"epoch-{e}" for e in range(bundle.protocol.epochs)), "after"]
    capped = bundle.result["power"]["cap_w"] is not None
    taken = {
        (r["accelerator"], r["when"])
        for r in bundle.result["readbacks"]
        if r["enforced_mw"] is not None or not capped
    }
    for accelerator in bundle.accelerator_ranks:
        missing = [when for when in wanted if (accelerator, when) not in taken]
        if missing:
            yield Found(
                RESULT,
                "/readbacks",
                f"{accelerator}: none for {', '.join(missing)}",
                "one before, one after each epoch, one after the run",
                "Whether the cap was kept cannot be told. Hand in all readbacks.",
            )


def _remove(evidence: Evidence, when: str) -> None:
    first = first_accelerator(evidence)
    kept = [
        r for r in evidence.result["readbacks"] if (r["accelerator"], r["when"]) != (first, when)
    ]
    evidence.result["readbacks"] = kept


@RULE.mutation()
def none_at_the_end(evidence: Evidence) -> None:
    _remove(evidence, "after")


@RULE.mutation()
def cap_not_read(evidence: Evidence) -> None:
    for readback in evidence.result["readbacks"]:
        readback["enforced_mw"] = None


@RULE.mutation()
def none_after_one_epoch(evidence: Evidence) -> None:
    _remove(evidence, "epoch-4")
