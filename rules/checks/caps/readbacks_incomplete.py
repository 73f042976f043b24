"""Readbacks of cap and power state are missing

## What it does
Checks that there is one readback of every accelerator before the run, after every epoch and after
the run. If a cap is declared, each readback must contain the enforced cap.

## Why it is bad
Without all readbacks, nobody can verify that the cap was in force during the whole run.

## What to do
Submit all readbacks, as `bench-submit` records them.

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
    required = ["before", *(f"epoch-{e}" for e in range(bundle.protocol.epochs)), "after"]
    recorded = {
        (readback.accelerator, readback.when)
        for readback in bundle.readbacks
        # Without a declared cap there is no cap to verify, and the readback shows the state only.
        if readback.enforced_mw is not None or bundle.cap_w is None
    }
    for accelerator in bundle.accelerator_ranks:
        missing = [when for when in required if (accelerator, when) not in recorded]
        if missing:
            yield Violation(
                RESULT,
                "/readbacks",
                f"{accelerator}: no readback for {', '.join(missing)}",
                "one readback before the run, one after each epoch, one after the run",
            )
