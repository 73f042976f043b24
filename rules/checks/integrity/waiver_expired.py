"""A waiver has expired

## What it does
Says that `expires_at` of a waiver lies in the past. It then counts for bundles alone that the LOG
says were accepted before.

## Why it is bad
It does no harm where it lies. Who counts on it should know.

## What to do
Nothing, where the bundles were accepted in time. Else mend the bundles, or ask for a new waiver.

## Source
[Trust](../trust.md); ssh-keygen(1), option `-Y verify`.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import WAIVER_EXPIRED

RULE = FormRule(__name__, WAIVER_EXPIRED, Severity.NOTE, added="1.3.0")
