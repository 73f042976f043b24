"""Mutations that the rule `items-contradict-rate` must find."""

from rules.audit.row import Row, Topic
from rules.checks.foreign.items_contradict_rate import RULE
from rules.testing.case import row_mutation
from rules.testing.rows import restate


@row_mutation(RULE)
def items_of_the_schedule(row: Row) -> Row:
    return restate(row, Topic.RATE, 2.04)


@row_mutation(RULE)
def items_left_out(row: Row) -> Row:
    return restate(row, Topic.RATE, 0.987)
