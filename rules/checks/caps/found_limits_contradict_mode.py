"""Limits found before the run that do not fit how its cap came about

## What it does
Where the cap was set for the run (`power.mode` is `set`), asks for the limit that each accelerator
of the run had before, and for no other accelerator's. Where the cap was as found, there must be
none.

## Why it is bad
Who sets a cap has to put the found one back. Without a record of it nobody can tell that this was
done, and what the next user of the board got.

## What to do
Hand in what `bench-submit` wrote.

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
    power = bundle.result["power"]
    found_of = set(power.get("found_mw") or ())
    wanted = set(bundle.accelerator_ranks) if power["mode"] == "set" else set()
    if found_of != wanted:
        yield Violation(
            RESULT,
            "/power/found_mw",
            f"limits of {', '.join(sorted(found_of)) or 'no accelerator'}, mode {power['mode']}",
            f"one for each of {', '.join(sorted(wanted))}"
            if wanted
            else "none, since no cap was set",
            "What the run found and what it set do not fit together. Hand in what "
            "bench-submit wrote.",
        )
