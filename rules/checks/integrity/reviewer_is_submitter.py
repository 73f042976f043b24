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

from pathlib import Path

from rules.rule import Rule, Severity
from rules.testing import tampering as forge

RULE = Rule("I112", Severity.ERROR, added="1.3.0")
RULE.check(RULE.problems)


@RULE.tampering()
def review_by_the_center(directory: Path) -> None:
    forge.review(directory, f"{forge.center(directory)}@reviews.example.org")


@RULE.tampering()
def review_by_the_center_in_capitals(directory: Path) -> None:
    forge.review(directory, f"{forge.center(directory).upper()}@reviews.example.org")


@RULE.tampering()
def review_from_a_domain_of_the_center(directory: Path) -> None:
    forge.review(directory, f"zoe@{forge.center(directory)}.example.org")


@RULE.tampering()
def review_with_a_key_of_the_center(directory: Path) -> None:
    forge.review(directory, also=f"{forge.center(directory)}@wattmark")
