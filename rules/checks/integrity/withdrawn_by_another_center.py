"""Another center withdraws the bundle

## What it does
Asks that whoever withdraws a bundle is of its own center, or may not submit at all: a principal to
whom the keyring gives the namespace `withdrawal@wattmark` and not `submission@wattmark`, such as
the chair of a round.

## Why it is bad
A center could take the results of another out of the comparison.

## What to do
Remove the withdrawal. Ask the center or the chair to withdraw the bundle, if it is wrong.

## Source
[Trust](../trust.md); ssh-keygen(1), option `-Y verify`.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import WITHDRAWN_BY_ANOTHER_CENTER

RULE = FormRule(__name__, WITHDRAWN_BY_ANOTHER_CENTER, Severity.ERROR, added="1.3.0")
