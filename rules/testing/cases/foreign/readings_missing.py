"""Mutations that the rule `readings-missing` must find."""

from rules.audit.row import Row
from rules.checks.foreign.readings_missing import RULE
from rules.testing.case import row_mutation
from rules.testing.rows import alter_trace


@row_mutation(RULE)
def one_long_gap(row: Row) -> Row:
    return alter_trace(row, missing_s=9.0, largest_gap_s=10.0)


@row_mutation(RULE)
def many_short_gaps(row: Row) -> Row:
    return alter_trace(row, missing_s=2.0, largest_gap_s=0.5)


@row_mutation(RULE)
def one_failed_reading_of_many(row: Row) -> Row:
    return alter_trace(row, readings=100, zero_readings=1)
