"""Mutations that the rule `signer-expired` must find."""

from pathlib import Path

from rules.checks.integrity.signer_expired import RULE
from rules.testing import tampering as forge
from rules.testing.case import tampering


def limit_validity(directory: Path, validity: str) -> None:
    signers = directory.parents[2] / "keyring" / "allowed_signers"
    signers.write_text(signers.read_text().replace("namespaces=", f"{validity},namespaces="))


@tampering(RULE)
def expire(directory: Path) -> None:
    limit_validity(directory, 'valid-before="20200101"')


@tampering(RULE)
def begin_later(directory: Path) -> None:
    limit_validity(directory, 'valid-after="20990101"')


def expire_key(directory: Path, namespace: str) -> None:
    signers = directory.parents[2] / "keyring" / "allowed_signers"
    signers.write_text(
        signers.read_text().replace(f'"{namespace}"', f'"{namespace}",valid-before="20200101"')
    )


@tampering(RULE)
def review_with_a_key_that_has_expired(directory: Path) -> None:
    forge.add_review(directory)
    expire_key(directory, "review@wattmark")


@tampering(RULE)
def waive_with_a_key_that_has_expired(directory: Path) -> None:
    forge.add_waiver(directory)
    expire_key(directory, "waiver@wattmark")
