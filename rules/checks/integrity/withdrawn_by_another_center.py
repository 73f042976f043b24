"""Another center withdraws the bundle

## What it does
Checks that the principal who withdraws a bundle belongs to the center of the bundle, or may not
submit at all: the keyring gives it the namespace `withdrawal@wattmark` and not
`submission@wattmark`. The chair of a round is such a principal.

## Why it is bad
A center could remove the results of another center from the comparison.

## What to do
Remove the withdrawal. If the bundle is wrong, ask the center or the chair to withdraw it.

## Source
[Trust](../trust.md); ssh-keygen(1), option `-Y verify`.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import WITHDRAWN_BY_ANOTHER_CENTER

RULE = FormRule(__name__, WITHDRAWN_BY_ANOTHER_CENTER, Severity.ERROR, added="1.3.0")
