"""Mutations that the rule `clock-of-another-zone` must find."""

from rules.audit.row import Row
from rules.checks.foreign.clock_of_another_zone import RULE
from rules.testing.case import row_mutation
from rules.testing.rows import alter_trace


@row_mutation(RULE)
def five_hours_off(row: Row) -> Row:
    return alter_trace(row, shift_s=18_000.0)


@row_mutation(RULE)
def half_an_hour_off(row: Row) -> Row:
    return alter_trace(row, shift_s=-1_800.0)
