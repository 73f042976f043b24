"""The mean power is above the stated cap

## What it does
Compares the mean power per board with the stated power cap of a board, times 1.02.

## Why it is bad
The cap was not enforced, or power and cap are those of different runs. A comparison over caps would
show the wrong one.

## What to do
Look for the cap that the board enforced. At the lowest caps, boards draw more than the cap.

## Source
Protocol, limit of enforced caps. In the trace of Zeus (NSDI 2023), an A40 with a cap of 100 W draws
106.9 W.
"""

from collections.abc import Iterator

from rules.audit.row import Row
from rules.finding import Severity, Violation
from rules.rule import AuditRule

RULE = AuditRule(__name__, "F107", Severity.WARNING, added="1.12.0")
MAX_FACTOR = 1.02


@RULE.check
def check(row: Row) -> Iterator[Violation]:
    board_w = row.power_per_board_w
    if row.cap_w and board_w is not None and board_w > MAX_FACTOR * row.cap_w:
        yield Violation(
            row.place, "", f"{board_w:.6g} W per board", f"at most {row.cap_w:g} W, the cap, + 2 %"
        )
