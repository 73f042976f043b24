"""A closed result from modified code

## What it does
Looks for closed bundles from a git checkout with uncommitted changes.

## Why it is bad
The commit that the bundle states is not the code that ran. The run stands, and a reviewer should
ask for the differences.

## What to do
Commit the changes, and run again from a clean checkout.

## Source
Bundle format, environment.json.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import ENVIRONMENT
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "M108", Severity.WARNING, standings=("closed",))


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    git = bundle.environment_declaration.git
    # Without a checkout, `git` is null, and M106 asks for another origin of the code.
    if git is not None and git.dirty:
        observed = f"true, at commit {git.commit[:12]}"
        yield Violation(ENVIRONMENT, "/git/dirty", observed, "false")
