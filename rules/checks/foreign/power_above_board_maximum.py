"""The power is above what the boards can draw

## What it does
Compares the mean power per board with the highest power limit of the board, times 1.05, and single
readings with this limit, times 1.5. For boards that the rule book does not have, the limit is that
which the source states, or else twice that of the strongest board that the rule book has.

## Why it is bad
No board draws so much. The power is that of a node, or of more boards than stated, or its unit is
another.

## What to do
Ask the authors what was measured, and on how many boards.

## Source
Data sheets of the boards. An H200 at its limit of 700 W keeps its mean below 705 W, and single
readings of 100 ms reach 855 W (docs/design.md).
"""

from collections.abc import Iterator

from rules.audit.limits import find_limits
from rules.audit.row import Row, Scope
from rules.boards import BOARDS
from rules.finding import Severity, Violation, format_count
from rules.rule import AuditRule

RULE = AuditRule(__name__, "F103", Severity.ERROR, added="1.12.0")
MAX_MEAN_FACTOR = 1.05
MAX_READING_FACTOR = 1.5
UNKNOWN_BOARD_W = 2 * max(board.max_power_w for board in BOARDS if board.max_power_w is not None)


@RULE.check
def check(row: Row) -> Iterator[Violation]:
    if row.scope != Scope.BOARDS:
        return
    limits = find_limits(row.board) if row.board else None
    known_w = limits.max_power_w if limits and limits.max_power_w is not None else row.max_board_w
    limit_w = UNKNOWN_BOARD_W if known_w is None else known_w
    powers: list[tuple[str, float | None, int | None, float]] = [
        ("mean power", row.power_per_board_w, 1, MAX_MEAN_FACTOR)
    ]
    powers.append(("highest reading", row.peak_power_w, row.boards, MAX_READING_FACTOR))
    for trace in row.traces:
        powers.append((f"{trace.label}: mean", trace.mean_power_w, trace.boards, MAX_MEAN_FACTOR))
        powers.append(
            (f"{trace.label}: highest", trace.highest_w, trace.boards, MAX_READING_FACTOR)
        )
    for name, power_w, boards, factor in powers:
        if not boards or power_w is None:
            continue
        most_w = boards * factor * limit_w
        if power_w > most_w:
            yield Violation(
                row.place,
                "",
                f"{name} of {format_count(boards, 'board')} {row.board}: {power_w:.6g} W",
                f"at most {most_w:.6g} W, {factor:g} times the limit",
            )
