"""The workload is not in the rule book

## What it does
Looks up the workload and its size in the rule book.

## Why it is bad
Without a definition there is no unit of work, no FLOPs and no comparison.

## What to do
Check the spelling. A new workload is one definition in `rules/workloads/`: propose it there.

## Source
Workload definitions, `rules/workloads/`.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import BundleRule
from rules.workloads import workloads

RULE = BundleRule(__name__, "T108", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    name, size_name = bundle.declaration.workload, bundle.declaration.size
    if bundle.workload is None:
        yield Violation(RESULT, "/workload", name, f"one of {', '.join(workloads())}")
    elif bundle.size is None:
        yield Violation(RESULT, "/size", size_name, f"a size that {name} has")
