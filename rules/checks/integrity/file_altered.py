"""A file is not what the manifest says

## What it does
Compares size and SHA-256 of every file of the bundle with MANIFEST.json.

## Why it is bad
The manifest is what was signed. A file that differs from it was changed after the run, by accident
or not.

## What to do
Restore the file from where the run was made. If the change was meant, the run has to be made again:
evidence is never edited.

## Source
FIPS 180-4 (SHA-256); bundle format, `docs/design.md` section 6.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import FILE_ALTERED

RULE = FormRule(__name__, FILE_ALTERED, Severity.ERROR)
