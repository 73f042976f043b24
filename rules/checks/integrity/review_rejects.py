"""A reviewer rejects the bundle

## What it does
Reports each valid signed review in `signatures/` with the verdict `reject`.

## Why it is bad
An authorised reviewer found the bundle deficient. The bundle stands until the administrator of the
round decides, and readers must know about the review.

## What to do
Read the comment and the findings of the review. Answer it in the pull request, or withdraw the
bundle.

## Source
[Trust](../trust.md); ssh-keygen(1), option `-Y verify`.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import REVIEW_REJECTS

RULE = FormRule(__name__, REVIEW_REJECTS, Severity.WARNING, added="1.3.0")
