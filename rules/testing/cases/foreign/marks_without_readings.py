"""Mutations that the rule `marks-without-readings` must find."""

from dataclasses import replace

from rules.audit.row import Row
from rules.checks.foreign.marks_without_readings import RULE
from rules.testing.case import row_mutation


@row_mutation(RULE)
def both_marks_at_one_time(row: Row) -> Row:
    return replace(row, unmatched_marks=("node_0.txt: start and stop at 0 s",))


@row_mutation(RULE)
def marks_before_the_readings(row: Row) -> Row:
    return replace(row, unmatched_marks=("node_0.txt: both before the first reading",))
