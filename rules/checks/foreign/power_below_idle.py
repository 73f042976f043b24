"""The power is below what idle boards draw

## What it does
Compares the mean power per board with the lower bound of the power of a working board. Only for
boards of the rule book that have this bound.

## Why it is bad
A board that works draws more. The energy was divided by too many boards, or is that of a part of
the time.

## What to do
Ask the authors on how many boards, and over which time, power was averaged.

## Source
Bounds of this rule book: an idle H100 or H200 draws more than 40 W.
"""

from collections.abc import Iterator

from rules.audit.limits import find_limits
from rules.audit.row import Row, Scope
from rules.finding import Severity, Violation
from rules.rule import AuditRule

RULE = AuditRule(__name__, "F111", Severity.ERROR, added="1.12.0")


@RULE.check
def check(row: Row) -> Iterator[Violation]:
    limits = find_limits(row.board) if row.board and row.scope == Scope.BOARDS else None
    board_w = row.power_per_board_w
    if limits is None or limits.idle_power_w is None or board_w is None:
        return
    if board_w < limits.idle_power_w:
        yield Violation(
            row.place,
            "",
            f"{board_w:.6g} W per board {row.board}",
            f"at least {limits.idle_power_w:g} W",
        )
