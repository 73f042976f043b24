"""Nobody looked who else was on the accelerator

## What it does
Looks for readbacks that do not say how many foreign processes there were.

## Why it is bad
A shared accelerator makes a run invalid. Where nobody looked, nobody can say that it was not
shared. The run stands; a reviewer should ask how the node was reserved.

## What to do
Use a meter that can count processes, and give it the rights to.

## Source
Protocol, section "invalid".
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "M109", Severity.WARNING, standings=("closed", "open"))


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    readbacks = bundle.result["readbacks"]
    blind = [
        place for place, readback in enumerate(readbacks) if readback["foreign_processes"] is None
    ]
    if blind:
        yield Violation(
            RESULT,
            f"/readbacks/{blind[0]}/foreign_processes",
            f"null, in {len(blind)} of {len(readbacks)} readbacks",
            "a number, 0 where there is none",
            "That the accelerator was not shared is not shown. Use a meter that counts processes.",
        )
