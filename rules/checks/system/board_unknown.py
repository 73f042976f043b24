"""A board that the rule book does not know

## What it does
Looks up the boards of the run among those whose peak and power limits the rule book has.

## Why it is bad
It is no offence. But without the peak there is no MFU, and bounds on power and throughput cannot be
judged. M118 lists the rules that fall silent, and warns where the name begins as that of a known
board.

## What to do
Propose the board with its data sheet: one line in `rules/boards.py`.

## Source
`rules/boards.py`.
"""

from collections.abc import Iterator

from rules.boards import board
from rules.bundle import Bundle
from rules.bundle_format.table import SYSTEM
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "M107", Severity.NOTE)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    for n, node in enumerate(bundle.system["nodes"]):
        for a, accelerator in enumerate(node["accelerators"]):
            if (
                accelerator["uuid"] in bundle.accelerator_ranks
                and board(accelerator["name"]) is None
            ):
                yield Violation(
                    SYSTEM,
                    f"/nodes/{n}/accelerators/{a}/name",
                    accelerator["name"],
                    "a board with a known peak and known limits",
                    "MFU and the bounds on power and throughput are not judged. Propose "
                    "the board with its data sheet.",
                )
