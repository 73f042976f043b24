"""A waiver cannot count

## What it does
Asks that what lies in `submissions/waivers/` are waivers, each a file `NAME.json` with its
signature `NAME.json.sig`, that the directory is one, and that the rule which is waived is in the
book and can be waived: no waiver lifts a false statement. Its form is asked by S104 to S107, its
signature by I106 to I109.

## Why it is bad
Whoever reads the file believes that something is waived, and it is not.

## What to do
Make the waiver anew with `bench-check waive`, or remove it.

## Source
[Trust](../trust.md); ssh-keygen(1), option `-Y verify`.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import WAIVER_NOT_GOOD

RULE = FormRule(__name__, WAIVER_NOT_GOOD, Severity.ERROR, added="1.3.0")
