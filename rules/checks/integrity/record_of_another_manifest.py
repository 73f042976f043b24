"""A review or withdrawal belongs to another bundle

## What it does
Compares `manifest_sha256` of each signed review and withdrawal in `signatures/` with the SHA-256 of
the `MANIFEST.json` of the bundle.

## Why it is bad
The record was copied from another bundle, or the bundle was created again after the review. Its
signer did not see this bundle.

## What to do
Remove the two files. Have the bundle reviewed again with `bench-check review`, or withdraw it with
`bench-check withdraw`.

## Source
[Trust](../trust.md); ssh-keygen(1), option `-Y verify`.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import RECORD_OF_ANOTHER_MANIFEST

RULE = FormRule(__name__, RECORD_OF_ANOTHER_MANIFEST, Severity.ERROR, added="1.3.0")
