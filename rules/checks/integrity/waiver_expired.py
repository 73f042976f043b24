"""A waiver has expired

## What it does
Reports a waiver whose `expires_at` lies in the past. Such a waiver counts only for bundles that
were accepted before this time according to the acceptance log.

## Why it is bad
An expired waiver does no harm. Submitters who rely on it must know that it has expired.

## What to do
Nothing, if the bundles were accepted in time. Otherwise correct the bundles, or ask for a new
waiver.

## Source
[Trust](../trust.md); ssh-keygen(1), option `-Y verify`.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import WAIVER_EXPIRED

RULE = FormRule(__name__, WAIVER_EXPIRED, Severity.NOTE, added="1.3.0")
