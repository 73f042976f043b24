"""An accepted bundle is gone

## What it does
Asks that each bundle which the LOG says was accepted, at or below a checked path, is still where it
was.

## Why it is bad
Results that turn out inconvenient must not vanish. What no longer stands is withdrawn, and stays in
sight.

## What to do
Restore the bundle from the repository's history. Withdraw it with `bench-check withdraw`, if it is
wrong.

## Source
[Trust](../trust.md); ssh-keygen(1), option `-Y verify`.
"""

from pathlib import Path

from rules.rule import Rule, Severity
from rules.testing import tampering as forge

RULE = Rule("I118", Severity.ERROR, added="1.3.0")
RULE.check(RULE.problems)


@RULE.tampering()
def log_a_bundle_that_is_not_there(directory: Path) -> None:
    # The LOG knows a bundle in the directory that is checked, and another one in its stead is
    # there.
    path = directory.relative_to(forge.submissions(directory)).as_posix()
    forge.log(directory, {}, {"path": f"{path}/another"})
