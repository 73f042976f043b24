"""Mutations that the rule `log-broken` must find."""

from pathlib import Path

from rules import VERSION
from rules.checks.integrity.log_broken import RULE
from rules.testing import tampering as forge
from rules.testing.case import tampering

OTHER = {"path": "example/h200x2/another"}


@tampering(RULE)
def cut_the_log_in_half(directory: Path) -> None:
    log = forge.write_log(directory, {})
    log.write_bytes(log.read_bytes()[:200])


@tampering(RULE)
def drop_a_line_in_the_middle(directory: Path) -> None:
    log = forge.write_log(directory, {}, OTHER, {"path": "example/h200x2/a-third"})
    first_line, _, third_line = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(first_line + third_line)


@tampering(RULE)
def swap_two_lines(directory: Path) -> None:
    log = forge.write_log(directory, {}, OTHER)
    log.write_bytes(b"".join(reversed(log.read_bytes().splitlines(keepends=True))))


@tampering(RULE)
def change_a_line(directory: Path) -> None:
    log = forge.write_log(directory, {}, {"event": "withdrawn"})
    log.write_text(log.read_text().replace(VERSION, "1.2.0", 1))


@tampering(RULE)
def accept_a_directory_twice(directory: Path) -> None:
    forge.write_log(directory, {}, {"manifest_sha256": "0" * 64})


@tampering(RULE)
def go_back_in_time(directory: Path) -> None:
    forge.write_log(directory, {}, {"event": "withdrawn", "at": "2026-01-01T00:00:00Z"})


@tampering(RULE)
def go_back_to_an_older_rule_book(directory: Path) -> None:
    forge.write_log(directory, {"path": "example/h200x2/another"}, {"rules_version": "1.0.0"})


@tampering(RULE)
def accept_by_a_rule_book_that_never_was(directory: Path) -> None:
    forge.write_log(directory, {"rules_version": "0.0.1"})


@tampering(RULE)
def accept_in_the_far_future(directory: Path) -> None:
    forge.write_log(directory, {"at": "2999-01-01T00:00:00Z"})


@tampering(RULE)
def withdraw_what_was_never_accepted(directory: Path) -> None:
    forge.write_log(directory, {"event": "withdrawn"})
