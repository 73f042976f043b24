"""The manifest does not list the files of the bundle

## What it does
Checks that MANIFEST.json lists every file of evidence exactly once, and no other file.

## Why it is bad
The signature covers only the files that the manifest lists. Any other file could be changed
unnoticed.

## What to do
Create manifest and signature again with the harness, before any other change.

## Source
Bundle format, `docs/design.md` section 6.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import MANIFEST_INCOMPLETE

RULE = FormRule(__name__, MANIFEST_INCOMPLETE, Severity.ERROR)
