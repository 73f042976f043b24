"""Exclusive use of the accelerator was not verified

## What it does
Looks for readbacks without the number of foreign processes.

## Why it is bad
A shared accelerator makes a run invalid. Without the number of processes, nobody can tell whether
the accelerator was shared. The run stands, and a reviewer should ask how the node was reserved.

## What to do
Use a meter that counts processes, and give it the necessary privileges.

## Source
Protocol, section "invalid".
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "M109", Severity.WARNING, standings=("closed", "open", "control"))


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    # None means that the driver gave no list of processes.
    unknown = [readback for readback in bundle.readbacks if readback.foreign_processes is None]
    if unknown:
        yield Violation(
            RESULT,
            f"{unknown[0].pointer}/foreign_processes",
            f"null, in {len(unknown)} of {len(bundle.readbacks)} readbacks",
            "the number of foreign processes",
        )
