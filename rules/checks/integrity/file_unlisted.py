"""A file does not belong to the bundle

## What it does
Checks that the directory of a bundle contains only the files of the format and the directory
`signatures`. Checks that `signatures` contains only files named `<role>.<principal>.sig` with the
roles submission, review and withdrawal, and the records that they sign.

## Why it is bad
The signature does not cover a file that the manifest does not list. A reader may nevertheless take
the file for evidence.

## What to do
Remove the file, or keep it outside the bundle. Write remarks into a key of result.json that begins
with `x-`, before signing.

## Source
Bundle format, `docs/design.md` section 6.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import FILE_UNLISTED

RULE = FormRule(__name__, FILE_UNLISTED, Severity.ERROR)
