"""The power readings of a model have steps of another scale

## What it does
Looks for the step of the power sensor in the readings of each model, as the smallest distance that
is frequent between two of them. On an H200 it must be 312 to 334 mW. Models with too few readings
to show a step are left out.

## Why it is bad
The sensor of a board has one step. Readings that were multiplied by a factor have another one.

## What to do
Restore samples.csv.gz from the machine that measured, or measure again.

## Source
Rule W121 on runs, which needs 1 000 readings. Of 285 parts of 300 readings, the first four of
each board and run on H200s, 277 show a step, and all of these have 319 to 328 mW. All 204
measurements of models in seven studies on H200s, with 202 to 1 038 readings, show a step of 320 to
324 mW, and all are found after multiplication by 0.9, 0.95, 1.05 or 1.1. Readings that are rounded
to the steps of the sensor afterwards are not found.
"""

from collections.abc import Iterator

import numpy as np

from rules.boards import real_board
from rules.bundle_format.study_records import POINTS_FILE
from rules.copies.readings import STEPS_MW, find_step_mw
from rules.finding import Severity, Violation
from rules.metrics.power.readings import to_whole_milliwatts
from rules.metrics.power.series import MEASURED
from rules.rule import StudyRule
from rules.studies.bundle import StudyBundle

RULE = StudyRule(
    __name__, "Y127", Severity.NOTE, added="1.7.0", standings=("study",), statistical=True
)


@RULE.check
def check(bundle: StudyBundle) -> Iterator[Violation]:
    low_mw, high_mw = STEPS_MW
    for windows in bundle.windows:
        board = real_board(windows.accelerator.name)
        if board is None or board.id not in MEASURED:
            continue
        readings: dict[str, list[int]] = {}
        for window, number in enumerate(windows.rows.tolist()):
            readings.setdefault(bundle.points[number].model, []).append(window)
        for model, members in readings.items():
            power_w = np.concatenate([windows.power_w[windows.select(w)] for w in members])
            power_mw = to_whole_milliwatts(power_w[np.isfinite(power_w)])
            step_mw = find_step_mw(np.sort(power_mw))
            if step_mw is not None and not low_mw <= step_mw <= high_mw:
                yield Violation(
                    POINTS_FILE,
                    f"row {windows.rows[members[0]] + 1}",
                    f"{model}: {len(power_mw)} power readings with steps of {step_mw:.0f} mW",
                    f"steps of {low_mw:.0f} to {high_mw:.0f} mW, as on other boards of the model",
                )
