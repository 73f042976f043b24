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

from rules.bundle_format.records import Evidence
from rules.bundle_format.table import ENVIRONMENT
from rules.rule import Bundle, Found, Rule, Severity

RULE = Rule("M108", Severity.WARNING, standings=("closed",))


@RULE.check
def check(bundle: Bundle) -> Iterator[Found]:
    git = bundle.environment["git"]
    if git is not None and git["dirty"]:
        yield Found(
            ENVIRONMENT,
            "/git/dirty",
            f"true, at commit {git['commit'][:12]}",
            "false",
            "The code that ran is not that of the commit. Commit it and run again.",
        )


@RULE.mutation()
def changes_not_committed(evidence: Evidence) -> None:
    evidence.environment["git"] = {"commit": "1" * 40, "dirty": True}


@RULE.mutation()
def changes_to_a_commit_in_a_container(evidence: Evidence) -> None:
    evidence.environment["container"] = "sha256:" + "2" * 64
    evidence.environment["git"] = {"commit": "3" * 40, "dirty": True}
