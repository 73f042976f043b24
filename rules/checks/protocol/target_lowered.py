"""The target is not that of the workload

## What it does
Compares `target_accuracy` in the settings of the implementation with the target of the workload.

## Why it is bad
Another accuracy takes other steps, so energy and time to it compare with no other run.

## What to do
State and reach the target of the workload, and run again.

## Source
Workload definitions, `target` in `rules/workloads/`.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "P129", Severity.ERROR, added="1.13.0", waivable=False)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    if bundle.target is None:
        return
    stated = bundle.implementation.settings.get("target_accuracy")
    if isinstance(stated, bool) or stated != bundle.target.accuracy:
        pointer = "/implementation/settings/target_accuracy"
        expected = f"{bundle.target.accuracy:g}, the target of the workload"
        yield Violation(RESULT, pointer, str(stated), expected)
