"""Mutations that the rule `window-outside-samples` must find."""

from rules.audit.row import Row
from rules.checks.foreign.window_outside_samples import RULE
from rules.testing.case import row_mutation
from rules.testing.rows import alter_trace


@row_mutation(RULE)
def log_of_another_hour(row: Row) -> Row:
    return alter_trace(row, covered_share=0.0)


@row_mutation(RULE)
def log_ends_early(row: Row) -> Row:
    return alter_trace(row, covered_share=0.9)
