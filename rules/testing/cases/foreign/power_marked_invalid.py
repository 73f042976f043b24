"""Mutations that the rule `power-marked-invalid` must find."""

from dataclasses import replace

from rules.audit.row import Row
from rules.checks.foreign.power_marked_invalid import RULE
from rules.testing.case import row_mutation


@row_mutation(RULE)
def telemetry_missing(row: Row) -> Row:
    return replace(row, invalid_reasons=("telemetry_file_missing",))


@row_mutation(RULE)
def no_reason(row: Row) -> Row:
    return replace(row, invalid_reasons=("no reason stated",))
