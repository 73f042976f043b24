"""An accepted bundle was replaced by another

## What it does
Checks that a bundle in a directory that the acceptance log lists has the manifest that was accepted
for this directory.

## Why it is bad
The owner of the center's key can sign other files in the same directory. Hashes and signature then
match. Only the acceptance log shows the replacement.

## What to do
Restore the accepted bundle. If it is wrong, withdraw it, and submit the new run in another
directory.

## Source
[Trust](../trust.md); ssh-keygen(1), option `-Y verify`.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import ACCEPTED_BUNDLE_REPLACED

RULE = FormRule(__name__, ACCEPTED_BUNDLE_REPLACED, Severity.ERROR, added="1.3.0")
