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

from rules.bundle_format.records import Evidence
from rules.bundle_format.table import RESULT
from rules.rule import Bundle, Found, Rule, Severity

RULE = Rule("M109", Severity.WARNING, standings=("closed", "open"))


@RULE.check
def check(bundle: Bundle) -> Iterator[Found]:
    readbacks = bundle.result["readbacks"]
    blind = [
        place for place, readback in enumerate(readbacks) if readback["foreign_processes"] is None
    ]
    if blind:
        yield Found(
            RESULT,
            f"/readbacks/{blind[0]}/foreign_processes",
            f"null, in {len(blind)} of {len(readbacks)} readbacks",
            "a number, 0 where there is none",
            "That the accelerator was not shared is not shown. Use a meter that counts processes.",
        )


@RULE.mutation()
def never_looked(evidence: Evidence) -> None:
    for readback in evidence.result["readbacks"]:
        readback["foreign_processes"] = None


@RULE.mutation()
def looked_at_the_beginning_only(evidence: Evidence) -> None:
    for readback in evidence.result["readbacks"]:
        if readback["when"] != "before":
            readback["foreign_processes"] = None
