"""The energy of the anchors drifts by more than 2 %

## What it does
Compares the energy per image of the anchors on each board in each session with that of the first
anchor there.

## Why it is bad
The anchor is the same model each time. If its energy changes, that of the models between the
anchors changed as well, and models from the start and the end of the study cannot be compared
closer than that.

## What to do
Let the board warm up and keep the room at one temperature. Continue the bundle of the study with
`--resume`: it measures the models of this board and session again, except those of a board that
climbed the ladder of the anchor. Measure these in a study of their own (`--models`). The figures of
study.json state the drift.

## Source
Method 1.0 of studies: the trial in docs/image-inference.md. Repeated runs of one workload on one
H200 differ by less than 1 % (docs/measurement.md).
"""

from collections.abc import Iterator

from rules.bundle_format.study_records import POINTS_FILE
from rules.finding import Severity, Violation
from rules.rule import StudyRule
from rules.studies.bundle import StudyBundle
from rules.studies.metrics.anchors import MAX_DRIFT, compute_drifts

RULE = StudyRule(__name__, "Y115", Severity.WARNING, added="1.7.0")


@RULE.check
def check(bundle: StudyBundle) -> Iterator[Violation]:
    if bundle.point_figures is None:
        return  # Y116 reports it.
    for drift in compute_drifts(bundle.point_table, bundle.point_figures):
        if abs(drift.drift) > MAX_DRIFT:
            yield Violation(
                POINTS_FILE,
                "",
                f"{drift.accelerator} in session {drift.session}: {100 * drift.drift:+.2f} % over "
                f"{len(drift.joules_per_image)} anchors",
                f"within {100 * MAX_DRIFT:g} %",
            )
