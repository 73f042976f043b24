"""The limits found before the run contradict the cap mode

## What it does
Compares the accelerators in `power.found_mw` with the cap mode. If the run set the cap
(`power.mode` is `set`), `found_mw` must contain the earlier limit of each accelerator of the run
and of no other accelerator. If the cap is as found, `found_mw` must be empty.

## Why it is bad
A run that sets a cap must restore the earlier limit. Without a record of this limit, nobody can
verify that it was restored for the next user of the board.

## What to do
Submit result.json as `bench-submit` wrote it.

## Source
Protocol, section "caps".
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "C110", Severity.ERROR, added="1.2.0")


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    power = bundle.declaration.power
    recorded = set(power.found_mw or ())
    # A run that set no cap has nothing to restore.
    required = set(bundle.accelerator_ranks) if power.mode == "set" else set()
    if recorded != required:
        names = ", ".join(sorted(recorded)) or "no accelerator"
        yield Violation(
            RESULT,
            "/power/found_mw",
            f"limits of {names}, mode {power.mode}",
            f"limits of {', '.join(sorted(required))}"
            if required
            else "no limits, because the run set no cap",
        )
