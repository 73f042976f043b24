"""An accepted bundle was replaced by another

## What it does
Asks that a bundle in a directory that the LOG knows has the manifest that was accepted there.

## Why it is bad
Whoever has the center's key can sign other files in the same place. All hashes and the signature
then hold; only the LOG remembers.

## What to do
Restore the bundle that was accepted. Withdraw it if it is wrong, and submit the new run in a
directory of its own.

## Source
[Trust](../trust.md); ssh-keygen(1), option `-Y verify`.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import ACCEPTED_BUNDLE_REPLACED

RULE = FormRule(__name__, ACCEPTED_BUNDLE_REPLACED, Severity.ERROR, added="1.3.0")
