"""Mutations that the rule `power-below-idle` must find."""

from dataclasses import replace

from rules.audit.row import Row
from rules.checks.foreign.power_below_idle import RULE
from rules.testing.case import row_mutation


@row_mutation(RULE)
def divided_by_too_many_boards(row: Row) -> Row:
    return replace(row, mean_power_w=20.0)


@row_mutation(RULE)
def power_in_kilowatts(row: Row) -> Row:
    return replace(row, mean_power_w=0.65)
