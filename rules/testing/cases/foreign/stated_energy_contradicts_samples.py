"""Mutations that the rule `stated-energy-contradicts-samples` must find."""

from rules.audit.row import Row, Topic
from rules.checks.foreign.stated_energy_contradicts_samples import RULE
from rules.testing.case import row_mutation
from rules.testing.rows import restate


@row_mutation(RULE)
def energy_of_a_wider_window(row: Row) -> Row:
    return restate(row, Topic.ENERGY_OF_SAMPLES, 1.038)


@row_mutation(RULE)
def energy_lowered(row: Row) -> Row:
    return restate(row, Topic.ENERGY_OF_SAMPLES, 0.985)
