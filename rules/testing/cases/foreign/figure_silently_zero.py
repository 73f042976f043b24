"""Mutations that the rule `figure-silently-zero` must find."""

from dataclasses import replace

from rules.audit.row import Row
from rules.checks.foreign.figure_silently_zero import RULE
from rules.testing.case import row_mutation
from rules.testing.rows import alter_trace


@row_mutation(RULE)
def board_not_found(row: Row) -> Row:
    return replace(row, silent=("gpu_energy: 0 J in 12 s",))


@row_mutation(RULE)
def negative_duration(row: Row) -> Row:
    return replace(row, duration_s=-row.duration_s if row.duration_s else None)


@row_mutation(RULE)
def failed_readings_as_zero(row: Row) -> Row:
    return alter_trace(row, readings=100, zero_readings=3)
