"""Mutations that the rule `bundle-fails-rule-book` must find."""

from dataclasses import replace

from rules.audit.row import Row
from rules.checks.foreign.bundle_fails_rule_book import RULE
from rules.testing.case import row_mutation


@row_mutation(RULE)
def one_error(row: Row) -> Row:
    return replace(row, tool_errors=("T102 figures differ",))


@row_mutation(RULE)
def errors_of_form(row: Row) -> Row:
    return replace(row, tool_errors=("S101 file missing", "I101 file altered"))
