"""A vendor that is not that of the board

## What it does
Compares `vendor` of every accelerator in system.json with who makes the board of that name.
Simulated boards have the vendor `simulated`, and no others do.

## Why it is bad
The meaning of the slowdown reasons is the vendor's. With a vendor that nobody knows, thermal
slowdown and power brake would be judged by no rule.

## What to do
Leave system.json as `bench-submit` writes it.

## Source
Bundle format, system.json; makers in `rules/boards.py`.
"""

from collections.abc import Iterator

from rules.boards import SIMULATED_PREFIX, board
from rules.bundle import Bundle
from rules.bundle_format.table import SYSTEM
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "M115", Severity.ERROR, added="1.3.0")


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    for n, node in enumerate(bundle.system["nodes"]):
        for a, accelerator in enumerate(node["accelerators"]):
            name, vendor, known = (
                accelerator["name"],
                accelerator["vendor"],
                board(accelerator["name"]),
            )
            right = known.vendor if known else None
            if name.startswith(SIMULATED_PREFIX):
                right = "simulated"
            if vendor != right and (right is not None or vendor == "simulated"):
                yield Violation(
                    SYSTEM,
                    f"/nodes/{n}/accelerators/{a}/vendor",
                    f"{vendor[:80]!r}, of {name[:80]}",
                    right or "the vendor of the board",
                    "The vendor says what the slowdown reasons mean. Leave it as it was recorded.",
                )
