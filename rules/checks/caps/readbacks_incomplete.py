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

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "C107", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
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
            yield Violation(
                RESULT,
                "/readbacks",
                f"{accelerator}: none for {', '.join(missing)}",
                "one before, one after each epoch, one after the run",
                "Whether the cap was kept cannot be told. Hand in all readbacks.",
            )
