"""A line of the keyring is unclear

## What it does
Asks that each line of the keyring's `allowed_signers` is one that OpenSSH reads, spells out its
principals, without `*`, `?` or `!`, and spells out in `namespaces=` what the key is for:
`submission@wattmark`, `review@wattmark`, `withdrawal@wattmark`, `waiver@wattmark`.

## Why it is bad
OpenSSH passes over a line that it cannot read, and a key without namespaces, or with a pattern for
them, is good for all.

## What to do
Mend the line. For the roles of reviewer, withdrawer and waiver only a line counts that names the
namespace.

## Source
ssh-keygen(1), section ALLOWED SIGNERS.
"""

from pathlib import Path

from rules.rule import Rule, Severity
from rules.testing import tampering as forge

RULE = Rule("I124", Severity.WARNING, added="1.3.0")
RULE.check(RULE.problems)


def _append(directory: Path, line: str) -> None:
    with (forge.submissions(directory) / "keyring" / "allowed_signers").open("a") as signers:
        signers.write(line + "\n")


@RULE.tampering()
def add_a_line_of_garbage(directory: Path) -> None:
    _append(directory, 'reviewer@wattmark namespaces="review@wattmark ssh-ed25519')


@RULE.tampering()
def let_a_pattern_in(directory: Path) -> None:
    _append(
        directory,
        'exam*@wattmark namespaces="submission@wattmark" ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA',
    )


@RULE.tampering()
def let_in_every_namespace(directory: Path) -> None:
    _append(directory, 'reviewer@wattmark namespaces="*" ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA')


@RULE.tampering()
def put_a_space_between_namespaces(directory: Path) -> None:
    names = "submission@wattmark, review@wattmark"
    _append(
        directory, f'reviewer@wattmark namespaces="{names}" ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA'
    )


@RULE.tampering()
def name_no_namespace(directory: Path) -> None:
    _append(directory, "reviewer@wattmark ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA")
