"""Mutations that the rule `board-count-contradicts-power` must find."""

from rules.audit.row import Row, Topic
from rules.checks.foreign.board_count_contradicts_power import RULE
from rules.testing.case import row_mutation
from rules.testing.rows import restate


@row_mutation(RULE)
def boards_counted_twice(row: Row) -> Row:
    return restate(row, Topic.COUNT, 2.0)


@row_mutation(RULE)
def one_board_left_out(row: Row) -> Row:
    return restate(row, Topic.COUNT, 0.875)
