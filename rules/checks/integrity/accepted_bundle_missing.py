"""An accepted bundle is missing

## What it does
Checks that each bundle which the acceptance log lists at or below a checked path is still in its
directory.

## Why it is bad
An unwelcome result must not disappear. A result that is no longer valid is withdrawn and stays
visible.

## What to do
Restore the bundle from the history of the repository. If it is wrong, withdraw it with `bench-check
withdraw`.

## Source
[Trust](../trust.md); ssh-keygen(1), option `-Y verify`.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import ACCEPTED_BUNDLE_MISSING

RULE = FormRule(__name__, ACCEPTED_BUNDLE_MISSING, Severity.ERROR, added="1.3.0")
