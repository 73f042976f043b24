"""The vendor contradicts the board

## What it does
Compares `vendor` of every accelerator in system.json with the vendor of the board of that name.
Simulated boards, and only these, have the vendor `simulated`.

## Why it is bad
The meaning of the slowdown reasons depends on the vendor. With an unknown vendor, no rule would
judge thermal slowdown and power brake.

## What to do
Submit system.json as `bench-submit` wrote it.

## Source
Bundle format, system.json; vendors in `rules/boards.py`.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import SYSTEM
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "M115", Severity.ERROR, added="1.3.0")


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    for accelerator in bundle.listed_accelerators:
        vendor, board = accelerator.vendor, accelerator.board
        expected = board.vendor if board else None
        if accelerator.is_simulated:
            expected = "simulated"
        # A board that the rule book does not know may have any vendor except `simulated`.
        if vendor != expected and (expected is not None or vendor == "simulated"):
            yield Violation(
                SYSTEM,
                f"{accelerator.pointer}/vendor",
                f"{vendor[:80]!r}, of {accelerator.name[:80]}",
                expected or "the vendor of the board",
            )
