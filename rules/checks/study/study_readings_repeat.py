"""Power readings occur twice in a study

## What it does
Looks for sequences of 32 power readings in a row with at least eight different values that occur
more than once in the study, in the same order, on any board in any session.

## Why it is bad
The noise of a sensor does not repeat. Readings of one model were copied to another.

## What to do
Restore samples.csv.gz from the machine that measured, or measure again.

## Source
Rule W111 on runs, which reports none of the measured runs in submissions/. Copies with added noise
are not found. In these runs two parts of 80 readings of one workload correlate by up to 0.98,
because batches beat with the sampling, so a correlation does not show a copy of a window of 10 s.
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle_format.table import SAMPLES
from rules.copies.readings import find_copied_sequences
from rules.finding import Severity, Violation
from rules.metrics.power.series import IN_A_ROW
from rules.rule import StudyRule
from rules.studies.bundle import StudyBundle

RULE = StudyRule(__name__, "Y126", Severity.ERROR, added="1.7.0", waivable=False)


@RULE.check
def check(bundle: StudyBundle) -> Iterator[Violation]:
    windows = bundle.windows
    copies = find_copied_sequences([board.power_w for board in windows])
    if len(copies):
        places = np.concatenate([board.samples.places for board in windows])[copies]
        yield Violation(
            SAMPLES,
            f"rows {places[0] + 1}-{places[-1] + 1}",
            f"{len(places)} sequences of {IN_A_ROW} power readings that occur elsewhere too",
            "sequences that occur once",
        )
