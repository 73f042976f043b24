"""Mutations that the rule `signer-not-of-path` must find."""

from pathlib import Path

from rules.checks.integrity.signer_not_of_path import RULE
from rules.testing import tampering as forge
from rules.testing.case import tampering


@tampering(RULE)
def rename_to_another_principal(directory: Path) -> None:
    (signature,) = (directory / "signatures").glob("submission.*")
    signature.rename(signature.with_name("submission.other@wattmark.sig"))


@tampering(RULE)
def take_the_key_from_the_keyring(directory: Path) -> None:
    signers = directory.parents[2] / "keyring" / "allowed_signers"
    signers.write_text(signers.read_text().replace("example@", "elsewhere@"))


@tampering(RULE)
def allow_the_key_for_reviews_only(directory: Path) -> None:
    signers = directory.parents[2] / "keyring" / "allowed_signers"
    signers.write_text(signers.read_text().replace("submission@wattmark", "review@wattmark"))


def remove_principal(directory: Path, principal: str) -> None:
    signers = directory.parents[2] / "keyring" / "allowed_signers"
    lines = signers.read_text().splitlines(keepends=True)
    signers.write_text("".join(line for line in lines if not line.startswith(principal)))


@tampering(RULE)
def review_with_an_unknown_key(directory: Path) -> None:
    forge.add_review(directory)
    remove_principal(directory, forge.REVIEWER)


@tampering(RULE)
def review_with_a_key_for_submissions(directory: Path) -> None:
    forge.add_review(directory, namespaces="submission@wattmark")


@tampering(RULE)
def withdraw_with_an_unknown_key(directory: Path) -> None:
    forge.add_withdrawal(directory)
    remove_principal(directory, forge.CHAIR)


@tampering(RULE, "I124")
def review_with_a_key_that_is_for_nothing_by_name(directory: Path) -> None:
    forge.add_review(directory)
    signers = directory.parents[2] / "keyring" / "allowed_signers"
    signers.write_text(signers.read_text().replace(' namespaces="review@wattmark"', ""))


@tampering(RULE)
def waive_with_an_unknown_key(directory: Path) -> None:
    forge.add_waiver(directory)
    remove_principal(directory, forge.CHAIR)
