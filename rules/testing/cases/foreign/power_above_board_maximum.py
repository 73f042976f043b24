"""Mutations that the rule `power-above-board-maximum` must find."""

from dataclasses import replace

from rules.audit.row import Row
from rules.checks.foreign.power_above_board_maximum import RULE
from rules.testing.case import row_mutation
from rules.testing.rows import alter_trace


@row_mutation(RULE, "F107")
def power_of_the_node_as_that_of_a_board(row: Row) -> Row:
    return replace(row, mean_power_w=10_045.0, traces=())


@row_mutation(RULE)
def one_reading_of_a_board_in_other_units(row: Row) -> Row:
    return alter_trace(row, highest_w=65_000.0)
