"""A workload that the rule book does not have

## What it does
Looks up the workload and its size in the rule book.

## Why it is bad
Without a definition there is no unit of work, no FLOPs and nothing to compare with.

## What to do
Check the spelling. A new workload is one definition in `rules/workloads/`; propose it there.

## Source
Workload definitions, `rules/workloads/`.
"""

from collections.abc import Iterator

from rules.bundle_format.records import Evidence
from rules.bundle_format.table import RESULT
from rules.rule import Bundle, Found, Rule, Severity
from rules.workloads import workloads

RULE = Rule("T108", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Found]:
    name, size = bundle.result["workload"], bundle.result["size"]
    workload = workloads().get(name)
    message = "The rule book has no such thing. Check the spelling, or propose the workload."
    if workload is None:
        yield Found(RESULT, "/workload", name, f"one of {', '.join(workloads())}", message)
    elif getattr(workload, size) is None:
        yield Found(RESULT, "/size", size, f"a size that {name} has", message)


@RULE.mutation("T101")
def name_of_their_own(evidence: Evidence) -> None:
    evidence.result["workload"] = "alexnet-train"


@RULE.mutation("T101")
def name_misspelt(evidence: Evidence) -> None:
    evidence.result["workload"] = evidence.result["workload"].upper()
