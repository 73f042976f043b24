"""A center waives a rule for itself

## What it does
Asks that a waiver for a bundle is granted by a principal of another center than the bundle's, as
I112 asks it of a reviewer: by name, by domain and by key.

## Why it is bad
The rules would not hold for whoever has the right to waive them.

## What to do
Remove the waiver, and ask somebody else who may grant one. What it names is held against the
bundle.

## Source
[Trust](../trust.md); ssh-keygen(1), option `-Y verify`.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import WAIVER_BY_OWN_CENTER

RULE = FormRule(__name__, WAIVER_BY_OWN_CENTER, Severity.ERROR, added="1.3.0")
