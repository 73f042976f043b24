"""Mutations that the rule `keyring-line-unclear` must find."""

from pathlib import Path

from rules.checks.integrity.keyring_line_unclear import RULE
from rules.testing import tampering as forge
from rules.testing.case import tampering


def append_line(directory: Path, line: str) -> None:
    with (forge.get_submissions(directory) / "keyring" / "allowed_signers").open("a") as signers:
        signers.write(line + "\n")


@tampering(RULE)
def add_a_line_of_garbage(directory: Path) -> None:
    append_line(directory, 'reviewer@wattmark namespaces="review@wattmark ssh-ed25519')


@tampering(RULE)
def let_a_pattern_in(directory: Path) -> None:
    append_line(
        directory,
        'exam*@wattmark namespaces="submission@wattmark" ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA',
    )


@tampering(RULE)
def let_in_every_namespace(directory: Path) -> None:
    append_line(directory, 'reviewer@wattmark namespaces="*" ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA')


@tampering(RULE)
def put_a_space_between_namespaces(directory: Path) -> None:
    names = "submission@wattmark, review@wattmark"
    append_line(
        directory, f'reviewer@wattmark namespaces="{names}" ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA'
    )


@tampering(RULE)
def name_no_namespace(directory: Path) -> None:
    append_line(directory, "reviewer@wattmark ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA")
