"""Energy per image is apart from that of twins

## What it does
Compares the energy per image of windows of the same model, size, engine, precision and batch with
each other: those of another session or board, and of a repetition. It reports energy that is more
than 25 % above the median of the other windows. Windows of lower power do not count, because their
readings may have failed (Y103).

## Why it is bad
The same model takes the same energy. The board was disturbed, or it ran another model.

## What to do
Look for foreign processes and slowdown in the session. Measure the model again.

## Source
The results that Yang, Adámek and Armour released, where twins have other weights. Up to 589 results
of a setup have twins, and one in all four setups is apart: convnext_large at 288 pixels on the A100
with TensorRT, 795 mJ against 283 mJ at a 2.8 times lower throughput. Over all twins the energy
differs by 0.2 to 1.1 % in the median.
"""

from collections.abc import Iterator

from rules.bundle_format.study_records import POINTS_FILE
from rules.finding import Severity, Violation
from rules.rule import StudyRule
from rules.studies.bundle import StudyBundle
from rules.studies.plausibility import ENERGY_APART, ENERGY_APART_FROM_TWIN, find_costly_twins

RULE = StudyRule(
    __name__,
    ENERGY_APART_FROM_TWIN,
    Severity.WARNING,
    added="1.7.0",
    standings=("study",),
    statistical=True,
)


@RULE.check
def check(bundle: StudyBundle) -> Iterator[Violation]:
    twins = bundle.twins
    for place, median_j in find_costly_twins(twins.groups, twins.observations).items():
        number = twins.numbers[place]
        joules = twins.observations[place].joules_per_image
        yield Violation(
            POINTS_FILE,
            f"row {number + 1}",
            f"{bundle.points[number]}: {1e3 * joules:.4g} mJ per image, and "
            f"{1e3 * median_j:.4g} mJ in other windows of the model",
            f"at most {100 * ENERGY_APART:g} % more",
        )
