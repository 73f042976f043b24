"""Mutations that the rule `energy-contradicts-power-times-time` must find."""

from rules.audit.row import Row, Topic
from rules.checks.foreign.energy_contradicts_power_times_time import RULE
from rules.testing.case import row_mutation
from rules.testing.rows import restate


@row_mutation(RULE)
def power_of_one_board(row: Row) -> Row:
    return restate(row, Topic.POWER_TIMES_TIME, 8.0)


@row_mutation(RULE)
def energy_in_kilojoules(row: Row) -> Row:
    return restate(row, Topic.POWER_TIMES_TIME, 1e-3)
