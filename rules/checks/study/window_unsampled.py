"""A window of a study has no power readings, or gaps of more than 300 ms

## What it does
Looks for the power readings in each window, from the last one before it to the first one after it.
Two readings in a row must not be more than 300 ms apart.

## Why it is bad
Energy in a gap is a guess. In a window of 1 s, 300 ms are a third of the result.

## What to do
Measure the model again: `bench-submit study image-inference --resume` does so. If gaps remain, look
for what stops the sampler, such as a busy node without a core to spare.

## Source
Section "sampling" of the protocol.
"""

import math
from collections.abc import Iterator

from rules.bundle_format.study_records import POINTS_FILE
from rules.finding import Severity, Violation
from rules.protocol import CURRENT
from rules.rule import StudyRule
from rules.studies.bundle import StudyBundle

RULE = StudyRule(__name__, "Y110", Severity.ERROR, added="1.7.0", standings=("study",))


@RULE.check
def check(bundle: StudyBundle) -> Iterator[Violation]:
    expected = f"power readings at most {CURRENT.max_gap_ms:g} ms apart"
    for number in bundle.list_unsampled():
        gap_ms = bundle.longest_gaps_ms[number]
        gap = (
            f"{gap_ms:.0f} ms without a power reading"
            if math.isfinite(gap_ms)
            else "no power readings before or after it"
        )
        yield Violation(
            POINTS_FILE, f"row {number + 1}", f"{bundle.points[number]}: {gap}", expected
        )
