"""The anchors take less energy than any known ones

## What it does
Compares the energy per image of the anchors of a study, for each board of each session, with the
least that anchors of committed studies took: same kind of board, engine and precision. The rule
reports anchors that take more than 2 % less, or 5 % less where the known ones are of fewer than
five boards, and boards, engines and precisions without known anchors.

## Why it is bad
A study states the name of its boards, and nothing in it depends on the name. All of its energies
can be lowered together, on the steps of the sensor. The anchor is the same model in every study, so
its energy shows both. It is a warning, because a better board or newer software can be the reason.

## What to do
Explain the difference to a reviewer: board, packages and clocks.

## Source
`rules/studies/known_anchors.py`. On 13 H200s, the least energy of the anchors in bf16 is 2.8 %
below the mean of the boards, whose standard deviation is 1.7 %.
"""

from collections.abc import Iterator

from rules.bundle_format.study_records import ANCHOR, POINTS_FILE
from rules.finding import Severity, Violation
from rules.rule import StudyRule
from rules.studies import known_anchors
from rules.studies.bundle import StudyBundle
from rules.studies.known_anchors import KNOWN_ANCHORS
from rules.studies.metrics.anchors import compute_drifts

RULE = StudyRule(
    __name__,
    "Y132",
    Severity.WARNING,
    added="1.10.0",
    statistical=True,
    standings=("study",),
)

MAX_SAVING, MAX_SAVING_OF_FEW = 0.02, 0.05
"""Largest usual saving against the least energy of known anchors, of `MANY` boards or fewer."""
MANY = 5


@RULE.check
def check(bundle: StudyBundle) -> Iterator[Violation]:
    if bundle.point_figures is None:
        return  # Y116 reports it.
    setups = {
        (point.session, point.accelerator): (point.engine, point.precision)
        for point in bundle.points
        if point.kind == ANCHOR and f"{point.architecture}@{point.size}" == known_anchors.ANCHOR
    }
    accelerators = {board.uuid: board for board in bundle.accelerators.values()}
    unknown: set[tuple[str, str, str]] = set()
    for drift in compute_drifts(bundle.point_table, bundle.point_figures):
        setup = setups.get((drift.session, drift.accelerator))
        accelerator = accelerators.get(drift.accelerator)
        if setup is None or accelerator is None or accelerator.is_simulated:
            continue
        key = (accelerator.board.id if accelerator.board else accelerator.name, *setup)
        known = KNOWN_ANCHORS.get(key)
        if known is None:
            if key not in unknown:
                unknown.add(key)
                yield Violation(
                    POINTS_FILE, "", " ".join(key), "a setup with known anchors, or a review"
                )
            continue
        saving = MAX_SAVING if known.boards >= MANY else MAX_SAVING_OF_FEW
        least_j = min(drift.joules_per_image)
        if least_j < known.least_joules_per_image * (1 - saving):
            yield Violation(
                POINTS_FILE,
                "",
                f"{drift.accelerator} in session {drift.session}: {1e3 * least_j:.4g} mJ per image",
                f"at most {saving:.0%} below {1e3 * known.least_joules_per_image:.4g} mJ, the "
                "least known, or a review",
            )
