"""A center grants itself a waiver

## What it does
Checks that the principal who grants a waiver for a bundle belongs to another center than the
bundle. The criteria are those of I112 for a reviewer: name, domain and key.

## Why it is bad
The rules would not hold for a center that may waive them.

## What to do
Remove the waiver, and ask another principal with this right for one. The findings that it names
count against the bundle.

## Source
[Trust](../trust.md); ssh-keygen(1), option `-Y verify`.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import WAIVER_BY_OWN_CENTER

RULE = FormRule(__name__, WAIVER_BY_OWN_CENTER, Severity.ERROR, added="1.3.0")
