"""The rate is above what the boards can compute

## What it does
Multiplies the rate by a lower bound of the floating-point operations per item. Compares the result
with the dense peak rate of all boards at the precision.

## Why it is bad
No board computes so fast. Part of the work was left out, or the rate is that of more boards.

## What to do
Ask the authors for the work per item and the number of boards. Do not use the energy per item until
then.

## Source
Data sheets of the boards. A token takes at least two operations for each parameter that is active,
which leaves attention out.
"""

from collections.abc import Iterator

from rules.audit.limits import find_limits
from rules.audit.row import Row
from rules.finding import Severity, Violation, format_count
from rules.rule import AuditRule

RULE = AuditRule(__name__, "F106", Severity.ERROR, added="1.12.0")


@RULE.check
def check(row: Row) -> Iterator[Violation]:
    limits = find_limits(row.board) if row.board else None
    if limits is None or not row.boards or row.items_per_s is None or row.flops_per_item is None:
        return
    needed = row.items_per_s * row.flops_per_item
    peak = row.boards * limits.peak_flops(row.precision)
    if needed > peak:
        yield Violation(
            row.place,
            "",
            f"{row.items_per_s:.6g} {row.unit}s/s need {needed / 1e12:.6g} TFLOP/s",
            f"at most {peak / 1e12:.6g} TFLOP/s, the peak of "
            f"{format_count(row.boards, 'board')} {row.board}",
        )
