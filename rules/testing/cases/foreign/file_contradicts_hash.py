"""Mutations that the rule `file-contradicts-hash` must find."""

from dataclasses import replace

from rules.audit.row import FileHash, Row
from rules.checks.foreign.file_contradicts_hash import RULE
from rules.testing.case import row_mutation


@row_mutation(RULE)
def log_altered(row: Row) -> Row:
    return replace(row, hashes=(FileHash("spl.txt", "aa" * 20, "bb" * 20),))


@row_mutation(RULE)
def log_cut(row: Row) -> Row:
    return replace(row, hashes=(FileHash("spl.txt", "aa" * 20, "cc" * 20),))
