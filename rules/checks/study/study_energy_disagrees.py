"""Counter and power samples disagree over a long window

## What it does
Compares the energy of each long window and anchor by the energy counter with the integral of the
power samples. They must agree within 2 %, or within 5 % if the board only has averaged power. Short
windows are not compared, because the counter of some boards advances every 100 ms. If batches are
in step with the samples, so that the samples see up to four phases of a batch only, the finding is
a note.

## Why it is bad
Both measure the same energy. If they disagree, one of them is wrong or was altered.

## What to do
Measure the model again. If the finding remains, look for a driver that reports another power.

## Source
Section "energy of record" of the protocol. Of 258 long windows of 129 models on ten H200s,
257 agree within 1.6 %. In the other one, resnet18 at batch 2048, batches take 49.999 ms: the
samples see two phases of them and give 7.5 % too much. The energy of record of long windows is that
of the counter.
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle_format.study_records import LADDER, POINTS_FILE
from rules.finding import Severity, Violation
from rules.metrics.power.readings import is_averaged
from rules.metrics.run import agreement, relative_difference
from rules.protocol import CURRENT
from rules.rule import StudyRule
from rules.studies.bundle import StudyBundle

RULE = StudyRule(__name__, "Y112", Severity.ERROR, added="1.7.0", standings=("study",))

MAX_PHASES = 4


@RULE.check
def check(bundle: StudyBundle) -> Iterator[Violation]:
    figures = bundle.point_figures
    if figures is None:
        return  # Y116 reports it.
    for windows in bundle.windows:
        limit = agreement(CURRENT, is_averaged(windows.samples)).epoch
        for number in windows.rows.tolist():
            point, counter_j = bundle.points[number], figures.energy_j_counter[number]
            if point.kind == LADDER or np.isnan(counter_j):
                continue
            trapezoid_j = figures.energy_j_trapezoid[number]
            difference = relative_difference(counter_j, trapezoid_j) if counter_j > 0 else np.inf
            if abs(difference) > limit:
                batch_s = point.batch / point.images_per_s
                is_excused = counter_j > 0 and is_in_step(batch_s, point.duration_s)
                yield Violation(
                    POINTS_FILE,
                    f"row {number + 1}",
                    f"{point}: {trapezoid_j:.6g} J by the power samples and {counter_j:.6g} J by "
                    f"the counter, with batches of {1e3 * batch_s:.6g} ms",
                    f"within {100 * limit:g} %",
                    severity=Severity.NOTE if is_excused else None,
                )


def is_in_step(batch_s: float, duration_s: float) -> bool:
    """Whether samples see up to `MAX_PHASES` phases of the batches only: over the window, the
    phases of every so many samples drift by less than one batch."""
    interval_s = CURRENT.sample_interval_ms / 1e3
    for phases in range(1, MAX_PHASES + 1):
        batches = phases * interval_s / batch_s
        drift = abs(batches - round(batches)) * duration_s / (phases * interval_s)
        if drift < 1:
            return True
    return False
