"""The submitter's signature is missing

## What it does
Asks that the bundle holds `signatures/submission.<principal>.sig`. This holds for demo bundles too,
which are signed with a throw-away key.

## Why it is bad
Without a signature nobody stands for the bundle, and nobody can tell whether it was changed.

## What to do
Sign it with `bench-submit sign`, on the machine where the key is.

## Source
ssh-keygen(1), options `-Y verify` and section ALLOWED SIGNERS.
"""

from pathlib import Path

from rules.rule import Rule, Severity

RULE = Rule("I105", Severity.ERROR)
RULE.check(RULE.problems)


@RULE.tampering()
def remove_the_signature(directory: Path) -> None:
    for signature in (directory / "signatures").iterdir():
        signature.unlink()


@RULE.tampering("I114")
def sign_as_reviewer_only(directory: Path) -> None:
    (signature,) = (directory / "signatures").iterdir()
    signature.rename(signature.with_name(signature.name.replace("submission.", "review.", 1)))
