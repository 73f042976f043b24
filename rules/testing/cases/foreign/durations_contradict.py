"""Mutations that the rule `durations-contradict` must find."""

from rules.audit.row import Row, Topic
from rules.checks.foreign.durations_contradict import RULE
from rules.testing.case import row_mutation
from rules.testing.rows import restate


@row_mutation(RULE)
def duration_with_warm_up(row: Row) -> Row:
    return restate(row, Topic.DURATION, 1.2)


@row_mutation(RULE)
def duration_shortened(row: Row) -> Row:
    return restate(row, Topic.DURATION, 0.98)
