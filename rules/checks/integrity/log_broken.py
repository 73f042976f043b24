"""The LOG is broken

## What it does
Reads `submissions/LOG` line by line. Asks that each line is whole, of its schema, and holds the
SHA-256 of the line before; that neither times nor versions of the rule book go back; that no time
lies more than a day ahead, and each version is one of a rule book that there is; that a directory
is accepted once; and that only what was accepted is withdrawn, once.

## Why it is bad
The LOG says which bundle was accepted when, and by which rule book. A line that was changed,
dropped, moved or put in breaks the chain. A broken LOG speaks for no bundle: all are judged by the
present rule book.

## What to do
Restore the LOG from the repository's history; lines are only ever appended, with `bench-check
accept`. Lines missing at the end do not break the chain: compare the head that `bench-check verify`
prints with the one that was published.

## Source
[Trust](../trust.md); ssh-keygen(1), option `-Y verify`.
"""

from pathlib import Path

from rules.rule import Rule, Severity
from rules.testing import tampering as forge

RULE = Rule("I117", Severity.ERROR, added="1.3.0")
RULE.check(RULE.problems)


OTHER = {"path": "example/h200x2/another"}


@RULE.tampering()
def cut_the_log_in_half(directory: Path) -> None:
    log = forge.log(directory, {})
    log.write_bytes(log.read_bytes()[:200])


@RULE.tampering()
def drop_a_line_in_the_middle(directory: Path) -> None:
    log = forge.log(directory, {}, OTHER, {"path": "example/h200x2/a-third"})
    first, _, third = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(first + third)


@RULE.tampering()
def swap_two_lines(directory: Path) -> None:
    log = forge.log(directory, {}, OTHER)
    log.write_bytes(b"".join(reversed(log.read_bytes().splitlines(keepends=True))))


@RULE.tampering()
def change_a_line(directory: Path) -> None:
    log = forge.log(directory, {}, {"event": "withdrawn"})
    log.write_text(log.read_text().replace("1.3.0", "1.2.0", 1))


@RULE.tampering()
def accept_a_directory_twice(directory: Path) -> None:
    forge.log(directory, {}, {"manifest_sha256": "0" * 64})


@RULE.tampering()
def go_back_in_time(directory: Path) -> None:
    forge.log(directory, {}, {"event": "withdrawn", "at": "2026-01-01T00:00:00Z"})


@RULE.tampering()
def go_back_to_an_older_rule_book(directory: Path) -> None:
    forge.log(directory, {"path": "example/h200x2/another"}, {"rules_version": "1.0.0"})


@RULE.tampering()
def accept_by_a_rule_book_that_never_was(directory: Path) -> None:
    forge.log(directory, {"rules_version": "0.0.1"})


@RULE.tampering()
def accept_in_the_far_future(directory: Path) -> None:
    forge.log(directory, {"at": "2999-01-01T00:00:00Z"})


@RULE.tampering()
def withdraw_what_was_never_accepted(directory: Path) -> None:
    forge.log(directory, {"event": "withdrawn"})
