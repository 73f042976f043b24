"""A log is not the one that was hashed

## What it does
Computes the hash of the power log. Compares it with the hash that the records of the power
measurement state.

## Why it is bad
The log was altered after the measurement.

## What to do
Ask the authors for the log with the stated hash. Do not use this one.

## Source
MLPerf's power server and client write the SHA-1 of every log into server.json and client.json.
"""

from collections.abc import Iterator

from rules.audit.row import Row
from rules.finding import Severity, Violation
from rules.rule import AuditRule

RULE = AuditRule(__name__, "F114", Severity.ERROR, added="1.12.0")


@RULE.check
def check(row: Row) -> Iterator[Violation]:
    for item in row.hashes:
        if item.stated != item.computed:
            yield Violation(item.file, "", f"hash {item.computed}", item.stated)
