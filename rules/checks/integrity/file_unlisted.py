"""A file does not belong to the bundle

## What it does
Asks that a bundle's directory holds the files of the format and the directory `signatures`, and
nothing else; and that `signatures` holds files named `<role>.<principal>.sig` with the roles
submission, review and withdrawal.

## Why it is bad
What the manifest does not list, nobody signed. A reader may take it for evidence all the same.

## What to do
Remove the file, or keep it outside the bundle. Remarks belong into a key of result.json that begins
with `x-`, before signing.

## Source
Bundle format, `docs/design.md` section 6.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import FILE_UNLISTED

RULE = FormRule(__name__, FILE_UNLISTED, Severity.ERROR)
