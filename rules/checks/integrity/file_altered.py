"""A file does not match the manifest

## What it does
Compares size and SHA-256 of every file of the bundle with MANIFEST.json.

## Why it is bad
The signature covers the manifest. A file that differs from it was changed after the run, by
accident or on purpose.

## What to do
Restore the file from the machine of the run. If the change was intended, repeat the run: evidence
must not be edited.

## Source
FIPS 180-4 (SHA-256); bundle format, `docs/design.md` section 6.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import FILE_ALTERED

RULE = FormRule(__name__, FILE_ALTERED, Severity.ERROR)
