"""A directory name cannot be written into the LOG

## What it does
Checks the path of the bundle below `submissions/`: UTF-8, at most 1 000 characters, no backslash,
and no control, format or other invisible characters.

## Why it is bad
The LOG and the signed manifest contain the path. A line of the LOG with such a path is invalid, and
no bundle of the round could then be accepted. Invisible characters make two directories look
alike.

## What to do
Rename the directory, and sign the bundle again there with `bench-submit sign`.

## Source
The format of the LOG, `log-entry-1.json`.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import DIRECTORY_NAME_UNSAFE

RULE = FormRule(__name__, DIRECTORY_NAME_UNSAFE, Severity.ERROR, added="1.5.0")
