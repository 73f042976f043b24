"""A waiver cannot count

## What it does
Asks that what lies in `submissions/waivers/` are waivers, each a file `NAME.json` with its
signature `NAME.json.sig`, that the directory is one, and that the rule which is waived is in the
book and can be waived: no waiver lifts a false statement. Its form is asked by S104 to S107, its
signature by I106 to I109.

## Why it is bad
Whoever reads the file believes that something is waived, and it is not.

## What to do
Make the waiver anew with `bench-check waive`, or remove it.

## Source
[Trust](../trust.md); ssh-keygen(1), option `-Y verify`.
"""

from pathlib import Path

from rules.rule import Rule, Severity
from rules.testing import tampering as forge

RULE = Rule("I121", Severity.ERROR, added="1.3.0")
RULE.check(RULE.problems)


@RULE.tampering()
def remove_the_signature(directory: Path) -> None:
    waiver = forge.waiver(directory)
    waiver.with_name(f"{waiver.name}.sig").unlink()


@RULE.tampering()
def link_to_a_signature(directory: Path) -> None:
    waiver = forge.waiver(directory)
    signature = waiver.with_name(f"{waiver.name}.sig")
    signature.rename(directory.parent / "elsewhere.sig")
    signature.symlink_to(directory.parent / "elsewhere.sig")


@RULE.tampering()
def waive_a_rule_that_there_is_not(directory: Path) -> None:
    forge.waiver(directory, rule="W999")


@RULE.tampering()
def waive_a_false_statement(directory: Path) -> None:
    forge.waiver(directory, rule="T102")


@RULE.tampering()
def put_something_else_there(directory: Path) -> None:
    forge.waiver(directory).with_name("notes.txt").write_text("to do")
