"""A file does not belong to the bundle

## What it does
Asks that a bundle's directory holds the files of the format and the directory `signatures`, and
nothing else; and that `signatures` holds files named `<role>.<principal>.sig` with the roles
submission, review and withdrawal.

## Why it is bad
What the manifest does not list, nobody signed. A reader may take it for evidence all the same.

## What to do
Remove the file, or keep it outside the bundle. Remarks belong into a key of result.json that begins
with `x-`, before signing.

## Source
Bundle format, `docs/design.md` section 6.
"""

from pathlib import Path

from rules.rule import Rule, Severity

RULE = Rule("I102", Severity.ERROR)
RULE.check(RULE.problems)


@RULE.tampering()
def add_a_file(directory: Path) -> None:
    (directory / "samples-corrected.csv").write_text("scheduled_ns\n")


@RULE.tampering()
def add_a_directory(directory: Path) -> None:
    (directory / "old").mkdir()


@RULE.tampering()
def add_to_the_signatures(directory: Path) -> None:
    (directory / "signatures" / "README").write_text("all good\n")
