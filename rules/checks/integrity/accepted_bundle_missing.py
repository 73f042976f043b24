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

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import ACCEPTED_BUNDLE_MISSING

RULE = FormRule(__name__, ACCEPTED_BUNDLE_MISSING, Severity.ERROR, added="1.3.0")
