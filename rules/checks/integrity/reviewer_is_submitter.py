"""The reviewer is of the center that submits

## What it does
Takes the center from the bundle's path. Asks that the principal of each review is not one of that
center (what stands before its `@`, capital letters or not), has neither the domain of one of the
center's principals nor a domain whose first label is the center, and that the key that signed it is
not one of the center's keys.

Names prove little. That whoever has another name is of another center, the keeper of the keyring
answers for.

## Why it is bad
A review is worth something because somebody else has looked.

## What to do
Remove the review, and ask another center for one.

## Source
The issue's requirement that reviewer and submitter differ; the reviewers of MLPerf are of other
organisations too.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import REVIEWER_IS_SUBMITTER

RULE = FormRule(__name__, REVIEWER_IS_SUBMITTER, Severity.ERROR, added="1.3.0")
