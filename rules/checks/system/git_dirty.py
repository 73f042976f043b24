"""Closed results from edited code

## What it does
Looks for a closed bundle made from a git tree with uncommitted changes.

## Why it is bad
The commit that the bundle names is not the code that ran. The run stands; a reviewer should ask for
the difference.

## What to do
Commit, and run again from a clean tree.

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
    git = bundle.environment["git"]
    if git is not None and git["dirty"]:
        yield Violation(
            ENVIRONMENT,
            "/git/dirty",
            f"true, at commit {git['commit'][:12]}",
            "false",
            "The code that ran is not that of the commit. Commit it and run again.",
        )
