"""The reviewer belongs to the center that submits

## What it does
Takes the center from the path of the bundle. Checks for each review that

- the principal does not belong to that center (the part before its `@`, regardless of case);
- its domain is neither the domain of one of the center's principals nor a domain whose first label
  is the center;
- the key is not one of the center's keys.

Names alone are weak evidence. The administrator of the keyring is responsible for listing each
principal under its true center.

## Why it is bad
A review has value because another organisation makes it.

## What to do
Remove the review, and ask another center for one.

## Source
Requirement of this project that reviewer and submitter differ. The reviewers of MLPerf also belong
to other organisations.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import REVIEWER_IS_SUBMITTER

RULE = FormRule(__name__, REVIEWER_IS_SUBMITTER, Severity.ERROR, added="1.3.0")
