"""A quantity is zero or negative that cannot be

## What it does
Looks for an energy of boards of 0 J over a time, for readings of 0 W that are more than
1 % of a series (F109 warns of fewer), and for negative energy, power, duration and items. Programs
write 0 where a board was not found or a reading failed.

## Why it is bad
A sum over boards then lacks a board, and a mean of readings is too low. Nothing in the figure shows
it.

## What to do
Leave the figure out. Ask the authors whether the program found the boards.

## Source
CodeCarbon 3.3 writes a GPU energy of 0 and no GPU where it does not find nvidia-smi. hpc-ai-perf-
bench counts a failed reading as 0 W.
"""

from collections.abc import Iterator

from rules.audit.row import DEFAULT_TOLERANCE, Row
from rules.finding import Severity, Violation, format_count
from rules.rule import AuditRule

RULE = AuditRule(__name__, "F110", Severity.ERROR, added="1.12.0")


@RULE.check
def check(row: Row) -> Iterator[Violation]:
    for quantity in row.silent:
        yield Violation(row.place, "", quantity, "a figure above 0, or none")
    for name, value in (
        ("energy", row.energy_j.value if row.energy_j else None),
        ("energy per item", row.joules_per_item.value if row.joules_per_item else None),
        ("items", row.items.value if row.items else None),
        ("mean power", row.mean_power_w),
        ("duration", row.duration_s),
    ):
        if value is not None and value < 0:
            yield Violation(row.place, "", f"{name}: {value:.6g}", "a figure above 0")
    for trace in row.traces:
        if trace.zero_readings > DEFAULT_TOLERANCE * trace.readings:
            yield Violation(
                row.place,
                "",
                f"{trace.label}: {format_count(trace.zero_readings, 'reading')} of 0 W",
                "readings above 0 W",
            )
