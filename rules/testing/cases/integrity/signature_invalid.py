"""Mutations that the rule `signature-invalid` must find."""

from pathlib import Path

from rules.checks.integrity.signature_invalid import RULE
from rules.testing import tampering as forge
from rules.testing.case import tampering


@tampering(RULE)
def reformat_the_manifest(directory: Path) -> None:
    with (directory / "MANIFEST.json").open("a") as manifest:
        manifest.write("\n")


@tampering(RULE)
def write_something_else(directory: Path) -> None:
    (signature,) = (directory / "signatures").glob("submission.*")
    signature.write_text("signed, honestly\n")


@tampering(RULE)
def alter_a_review_after_signing(directory: Path) -> None:
    review = forge.add_review(directory, comment="Looks right.")
    review.write_text(review.read_text().replace("right", "wrong"))


@tampering(RULE)
def alter_a_waiver_after_signing(directory: Path) -> None:
    waiver = forge.add_waiver(directory)
    waiver.write_text(waiver.read_text().replace("W101", "W102"))


@tampering(RULE)
def pass_off_a_withdrawal_as_a_review(directory: Path) -> None:
    """The signature over the review is one for withdrawals."""
    review, withdrawal = forge.add_review(directory), forge.add_withdrawal(directory)
    review.with_suffix(".sig").write_bytes(withdrawal.with_suffix(".sig").read_bytes())
    for path in (withdrawal, withdrawal.with_suffix(".sig")):
        path.unlink()
