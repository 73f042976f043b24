"""The signature does not fit the manifest

## What it does
Verifies the submitter's signature over the bytes of MANIFEST.json in the namespace `submission@wattmark`, whoever's
key it is.

## Why it is bad
Either the manifest was changed after it was signed, or the signature was made for something else, such as a review or
another bundle.

## What to do
Restore the manifest, or sign the bundle again with `bench-submit sign`.

## Source
ssh-keygen(1), options `-Y verify` and section ALLOWED SIGNERS.
"""

from pathlib import Path

from rules.rule import Rule, Severity

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
