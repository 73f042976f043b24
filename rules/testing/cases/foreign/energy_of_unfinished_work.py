"""Mutations that the rule `energy-of-unfinished-work` must find."""

from dataclasses import replace

from rules.audit.row import Row
from rules.checks.foreign.energy_of_unfinished_work import RULE
from rules.testing.case import row_mutation


@row_mutation(RULE)
def cancelled(row: Row) -> Row:
    return replace(row, unfinished="the run was cancelled")


@row_mutation(RULE)
def requests_failed(row: Row) -> Row:
    return replace(row, unfinished="84 requests failed")
