"""The board is not in the rule book

## What it does
Looks up the boards of the run among the boards whose peak and power limits the rule book contains.

## Why it is bad
It is not an offence. But without the peak there is no MFU, and the bounds on power and throughput
cannot be judged. M118 lists the rules that do not apply, and warns if the name begins like that of
a known board.

## What to do
Propose the board with its data sheet: one line in `rules/boards.py`.

## Source
`rules/boards.py`.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import SYSTEM
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "M107", Severity.NOTE)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    for accelerator in bundle.listed_accelerators:
        board = accelerator.board
        # Boards that did no work need no limits.
        if accelerator.uuid in bundle.accelerator_ranks and not (board and board.peak_tflops):
            yield Violation(
                SYSTEM,
                f"{accelerator.pointer}/name",
                accelerator.name,
                "a board with a known peak and known limits",
                "MFU and the bounds on power and throughput are not judged. Propose the board "
                "with its data sheet.",
            )
