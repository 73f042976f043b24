"""Readings are missing in the window

## What it does
Adds the time in gaps of the readings that are longer than three typical steps. At most 1 % of the
window may lie in them. Looks for readings of 0 W that are at most 1 % of a series.

## Why it is bad
What the boards drew in a gap, or at a reading that failed, is not known. The interval of the energy
does not cover it.

## What to do
Ask the authors for the whole log. If there is none, treat the energy as that much less certain.

## Source
Logs of eight nodes of one MLPerf run: seven have no such gap, one has a gap of 5 s. One node of
another MLPerf run reads 0 W once among readings of 5 kW.
"""

from collections.abc import Iterator

from rules.audit.row import DEFAULT_TOLERANCE, Row
from rules.finding import Severity, Violation, format_count
from rules.rule import AuditRule

RULE = AuditRule(__name__, "F109", Severity.WARNING, added="1.12.0")


@RULE.check
def check(row: Row) -> Iterator[Violation]:
    for trace in row.traces:
        if trace.missing_s > DEFAULT_TOLERANCE * trace.duration_s:
            yield Violation(
                row.place,
                "",
                f"{trace.label}: {trace.missing_s:.4g} s in gaps, the longest of "
                f"{trace.largest_gap_s:.4g} s",
                f"at most {DEFAULT_TOLERANCE:.0%} of {trace.duration_s:.6g} s",
            )
        if 0 < trace.zero_readings <= DEFAULT_TOLERANCE * trace.readings:
            zeros = format_count(trace.zero_readings, "reading")
            yield Violation(row.place, "", f"{trace.label}: {zeros} of 0 W", "readings above 0 W")
