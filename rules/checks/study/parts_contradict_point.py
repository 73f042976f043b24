"""The parts of a window contradict the window

## What it does
Compares the parts in batches.csv.gz with their point: the first part begins and the last one ends
with the window, each begins where the one before ends, and the batches of all parts times the batch
size are the items.

## Why it is bad
Throughput is items over time, and energy is that of the whole window. Parts that leave out time or
count other batches show that one of the two files was altered.

## What to do
Restore both files from the machine that measured, or measure again.

## Source
The format of studies (docs/bundle-format.md): parts follow each other without a pause.
"""

from collections.abc import Iterator
from itertools import pairwise

from rules.bundle_format.study_records import POINTS_FILE, STUDY_BATCHES_FILE
from rules.finding import Severity, Violation
from rules.rule import StudyRule
from rules.studies.bundle import StudyBundle

RULE = StudyRule(__name__, "Y108", Severity.ERROR, added="1.7.0", waivable=False)


@RULE.check
def check(bundle: StudyBundle) -> Iterator[Violation]:
    for number, parts in bundle.parts_of.items():
        point, place = bundle.points[number], f"row {number + 1}"
        batches = sum(part.batches for part in parts)
        if point.items != batches * point.batch:
            yield Violation(
                POINTS_FILE,
                place,
                f"{point}: {point.items} items",
                f"{batches} batches of {point.batch}, as {STUDY_BATCHES_FILE} lists",
            )
        follows = all(
            later.start_ns == part.end_ns and later.part == part.part + 1
            for part, later in pairwise(parts)
        )
        window_ns = parts[0].start_ns, parts[-1].end_ns
        if not follows or window_ns != (point.start_ns, point.end_ns) or parts[0].part != 0:
            yield Violation(
                STUDY_BATCHES_FILE,
                "",
                f"the parts of {place} of {POINTS_FILE} leave gaps, overlap or have another window",
                f"parts one after another from {point.start_ns} to {point.end_ns} ns",
            )
