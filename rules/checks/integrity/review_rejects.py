"""A reviewer rejects the bundle

## What it does
Says that a good, signed review in `signatures/` has the verdict `reject`.

## Why it is bad
Somebody who may judge has looked and found it wanting. The bundle stands until whoever runs the
round decides; who reads it must know.

## What to do
Read the comment and the findings in the review. Answer it in the pull request, or withdraw the
bundle.

## Source
[Trust](../trust.md); ssh-keygen(1), option `-Y verify`.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import REVIEW_REJECTS

RULE = FormRule(__name__, REVIEW_REJECTS, Severity.WARNING, added="1.3.0")
