"""The manifest does not list the files of the bundle

## What it does
Asks that MANIFEST.json lists every file of evidence exactly once, and nothing that is not one.

## Why it is bad
A signature covers what the manifest lists. A file that is left out could be changed at any time.

## What to do
Make manifest and signature anew with the harness, before any other change.

## Source
Bundle format, `docs/design.md` section 6.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import MANIFEST_INCOMPLETE

RULE = FormRule(__name__, MANIFEST_INCOMPLETE, Severity.ERROR)
