"""Mutations that the rule `rate-above-flops-bound` must find."""

from dataclasses import replace

from rules.audit.row import Row
from rules.checks.foreign.rate_above_flops_bound import RULE
from rules.testing.case import row_mutation


@row_mutation(RULE)
def rate_of_a_thousand_boards(row: Row) -> Row:
    return replace(row, items_per_s=1e3 * (row.items_per_s or 0.0))


@row_mutation(RULE)
def tokens_of_a_model_that_was_not_run(row: Row) -> Row:
    return replace(row, flops_per_item=2 * 405e9 * 100)
