"""The events of the run are missing

## What it does
Looks for events.jsonl.gz in bundles that were made with rule book 1.4.0 or newer. P122 compares the
events that are there with result and batches.

## Why it is bad
The harness has recorded events since rule book 1.4.0: plan, ranks, limits, and the end of every
epoch. Without them, nothing confirms the declared variant, cap and epochs. A file that is left out
may be one that contradicts them.

## What to do
Submit events.jsonl.gz as the harness wrote it, or run again.

## Source
Bundle format, events.jsonl.gz. All committed bundles of rule book 1.4.0 have the file.
"""

from collections.abc import Iterator

from rules import RELEASED
from rules.bundle import Bundle
from rules.bundle_format.records import EVENTS_FILE
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "P125", Severity.WARNING, added="1.5.0")

FIRST_WITH_EVENTS = "1.4.0"
"""The first rule book whose harness records events."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    # Rules on form report a file that the manifest lists and that is missing or damaged.
    if any(problem.violation.file == EVENTS_FILE for problem in bundle.problems):
        return
    earlier_versions = RELEASED[: RELEASED.index(FIRST_WITH_EVENTS)]
    version = bundle.declaration.rules_version
    if bundle.events is None and version not in earlier_versions:
        yield Violation(EVENTS_FILE, "", "no file", f"the events of a run of rule book {version}")
