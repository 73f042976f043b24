"""Mutations that the rule `power-above-cap` must find."""

from dataclasses import replace

from rules.audit.row import Row
from rules.checks.foreign.power_above_cap import RULE
from rules.testing.case import row_mutation


@row_mutation(RULE)
def cap_not_enforced(row: Row) -> Row:
    return replace(row, cap_w=300.0)


@row_mutation(RULE)
def cap_slightly_below_the_power(row: Row) -> Row:
    return replace(row, cap_w=630.0)
