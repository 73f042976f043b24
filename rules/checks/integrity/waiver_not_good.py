"""A waiver is invalid

## What it does
Checks that `submissions/waivers/` is a directory that contains only waivers, each a file
`NAME.json` with its signature `NAME.json.sig`. Checks that the waived rule exists and can be
waived: no waiver lifts a finding that proves a false statement. S104 to S107 check the form of a
waiver, and I106 to I109 its signature.

## Why it is bad
A reader of the file believes that a rule is waived although it is not.

## What to do
Create the waiver again with `bench-check waive`, or remove it.

## Source
[Trust](../trust.md); ssh-keygen(1), option `-Y verify`.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import WAIVER_NOT_GOOD

RULE = FormRule(__name__, WAIVER_NOT_GOOD, Severity.ERROR, added="1.3.0")
