"""Mutations that the rule `parts-contradict-total` must find."""

from rules.audit.row import Row, Topic
from rules.checks.foreign.parts_contradict_total import RULE
from rules.testing.case import row_mutation
from rules.testing.rows import restate


@row_mutation(RULE)
def one_of_three_parts_left_out(row: Row) -> Row:
    return restate(row, Topic.PARTS, 1.5)


@row_mutation(RULE)
def total_lowered(row: Row) -> Row:
    return restate(row, Topic.PARTS, 0.98)
