"""A window of a study is too short

## What it does
Compares the length of each window with the method: 1 s for the sizes of a ladder; 10 s, 13 batches
and ten parts for long windows and anchors.

## Why it is bad
A power sample is taken every 100 ms. A short window holds few of them, so that its edges and the
noise of the sensor decide, and few parts give no interval.

## What to do
Measure with the windows of the method. Shorter windows are for tests, and make the study a demo.

## Source
Method 1.0 of studies (docs/image-inference.md).
"""

from collections.abc import Iterator

from rules.bundle_format.study_records import LADDER, POINTS_FILE
from rules.finding import Severity, Violation
from rules.rule import StudyRule
from rules.studies.bundle import StudyBundle

RULE = StudyRule(__name__, "Y107", Severity.ERROR, added="1.7.0", standings=("study",))


@RULE.check
def check(bundle: StudyBundle) -> Iterator[Violation]:
    method = bundle.method
    for number, parts in bundle.parts_of.items():
        point = bundle.points[number]
        is_short = point.kind == LADDER
        seconds = point.duration_s
        batches = sum(part.batches for part in parts)
        found, expected = [], []
        if seconds < (method.ladder_s if is_short else method.long_s):
            found.append(f"{seconds:.3f} s")
            expected.append(f"{method.ladder_s if is_short else method.long_s:g} s")
        if not is_short and batches < method.long_batches:
            found.append(f"{batches} batches")
            expected.append(f"{method.long_batches} batches")
        if not is_short and len(parts) < method.parts:
            found.append(f"{len(parts)} parts")
            expected.append(f"{method.parts} parts")
        if found:
            yield Violation(
                POINTS_FILE,
                f"row {number + 1}",
                f"{point}: {', '.join(found)}",
                f"at least {', '.join(expected)}",
            )
