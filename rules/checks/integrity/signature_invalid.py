"""The signature does not fit the manifest

## What it does
Verifies each signature, whoever's key it is: the submitter's over the bytes of MANIFEST.json in the
namespace `submission@wattmark`; those of reviews, withdrawals and waivers over their own file, in
`review@wattmark`, `withdrawal@wattmark` and `waiver@wattmark`.

## Why it is bad
Either what is signed was changed afterwards, or the signature was made for something else, such as
another role or another bundle.

## What to do
Restore the file, or have it signed again: `bench-submit sign`, `bench-check review`, `withdraw` or
`waive`.

## Source
ssh-keygen(1), options `-Y verify` and section ALLOWED SIGNERS.
"""

from pathlib import Path

from rules.rule import Rule, Severity
from rules.testing import tampering as forge

RULE = Rule("I106", Severity.ERROR)
RULE.check(RULE.problems)


@RULE.tampering()
def reformat_the_manifest(directory: Path) -> None:
    with (directory / "MANIFEST.json").open("a") as manifest:
        manifest.write("\n")


@RULE.tampering()
def write_something_else(directory: Path) -> None:
    (signature,) = (directory / "signatures").iterdir()
    signature.write_text("signed, honestly\n")


@RULE.tampering()
def alter_a_review_after_signing(directory: Path) -> None:
    review = forge.review(directory, comment="Looks right.")
    review.write_text(review.read_text().replace("right", "wrong"))


@RULE.tampering()
def alter_a_waiver_after_signing(directory: Path) -> None:
    waiver = forge.waiver(directory)
    waiver.write_text(waiver.read_text().replace("W101", "W102"))


@RULE.tampering()
def pass_off_a_withdrawal_as_a_review(directory: Path) -> None:
    """The signature over the review is one for withdrawals."""
    review, withdrawal = forge.review(directory), forge.withdrawal(directory)
    review.with_suffix(".sig").write_bytes(withdrawal.with_suffix(".sig").read_bytes())
    for path in (withdrawal, withdrawal.with_suffix(".sig")):
        path.unlink()
