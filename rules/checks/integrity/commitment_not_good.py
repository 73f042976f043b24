"""A commitment is invalid

## What it does
Checks each file in `submissions/commitments/`: its name is that of its center and of the hash in
it, and its signature lies beside it and is of a key that only this center has. S104 to S107 check
its form, and I106 to I109 its signature.

## Why it is bad
A center believes that its run is protected against copies although it is not.

## What to do
Make the commitment again with `bench-check commit`, or remove it.

## Source
[Trust](../trust.md#commitments); ssh-keygen(1), option `-Y verify`.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import COMMITMENT_NOT_GOOD

RULE = FormRule(__name__, COMMITMENT_NOT_GOOD, Severity.ERROR, added="1.12.0")
