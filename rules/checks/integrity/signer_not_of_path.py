"""The signer may not sign what lies here

## What it does
Takes the center from the path (the first directory below the one that holds the keyring) and its
principals from the keyring (those of `allowed_signers` whose part before the `@` is the center's
name). Asks that each signature of a submitter is by one of these principals, and with a key that
the keyring accepts for it and for the namespace `submission@wattmark`. Asks of each review,
withdrawal and waiver that the keyring accepts the key for who signs and for the namespace of that
role, in a line that names the namespace.

## Why it is bad
Anyone can make a key and a good signature. It only means something where the key is known to be the
center's. The name in the bundle cannot say so: whoever forges a bundle chooses it.

## What to do
Move the bundle below the directory of the center that signed it, sign it with that center's key, or
ask the keeper of the keyring to add the key.

## Source
ssh-keygen(1), options `-Y verify` and section ALLOWED SIGNERS.
"""

from pathlib import Path

from rules.rule import Rule, Severity
from rules.testing import tampering as forge

RULE = Rule("I107", Severity.ERROR)
RULE.check(RULE.problems)


@RULE.tampering()
def rename_to_another_principal(directory: Path) -> None:
    (signature,) = (directory / "signatures").iterdir()
    signature.rename(signature.with_name("submission.other@wattmark.sig"))


@RULE.tampering()
def take_the_key_from_the_keyring(directory: Path) -> None:
    signers = directory.parents[2] / "keyring" / "allowed_signers"
    signers.write_text(signers.read_text().replace("example@", "elsewhere@"))


@RULE.tampering()
def allow_the_key_for_reviews_only(directory: Path) -> None:
    signers = directory.parents[2] / "keyring" / "allowed_signers"
    signers.write_text(signers.read_text().replace("submission@wattmark", "review@wattmark"))


def _forget(directory: Path, principal: str) -> None:
    signers = directory.parents[2] / "keyring" / "allowed_signers"
    lines = signers.read_text().splitlines(keepends=True)
    signers.write_text("".join(line for line in lines if not line.startswith(principal)))


@RULE.tampering()
def review_with_an_unknown_key(directory: Path) -> None:
    forge.review(directory)
    _forget(directory, forge.REVIEWER)


@RULE.tampering()
def review_with_a_key_for_submissions(directory: Path) -> None:
    forge.review(directory, namespaces="submission@wattmark")


@RULE.tampering()
def withdraw_with_an_unknown_key(directory: Path) -> None:
    forge.withdrawal(directory)
    _forget(directory, forge.CHAIR)


@RULE.tampering("I124")
def review_with_a_key_that_is_for_nothing_by_name(directory: Path) -> None:
    forge.review(directory)
    signers = directory.parents[2] / "keyring" / "allowed_signers"
    signers.write_text(signers.read_text().replace(' namespaces="review@wattmark"', ""))


@RULE.tampering()
def waive_with_an_unknown_key(directory: Path) -> None:
    forge.waiver(directory)
    _forget(directory, forge.CHAIR)
