"""Windows of a study overlap

## What it does
Compares the windows of each board in each session with each other. A board measures one model at a
time.

## Why it is bad
Energy in an overlap counts for both models. Copied rows give such windows, and two models on one
board disturb each other.

## What to do
Measure again with one study per board.

## Source
Method 1.0 of studies (docs/image-inference.md): one model at a time on a board.
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle_format.study_records import POINTS_FILE
from rules.finding import Severity, Violation
from rules.rule import StudyRule
from rules.studies.bundle import StudyBundle

RULE = StudyRule(__name__, "Y109", Severity.ERROR, added="1.7.0", waivable=False)


@RULE.check
def check(bundle: StudyBundle) -> Iterator[Violation]:
    for windows in bundle.windows:
        for place in np.flatnonzero(windows.starts_ns[1:] < windows.ends_ns[:-1]).tolist():
            earlier, later = windows.rows[place : place + 2].tolist()
            yield Violation(
                POINTS_FILE,
                f"row {later + 1}",
                f"{bundle.points[later]} begins before row {earlier + 1} ends, "
                f"{bundle.points[earlier]}",
                f"one model at a time on {windows.name}",
            )
