"""Power is apart from that of a twin

## What it does
Compares windows of the same model, size, engine, precision and batch with each other: those of
another session or board, of a repetition, and the short and the long window of one model. It
reports power that is more than 10 % below that of another window with a throughput within 5 %.

## Why it is bad
The same work at the same speed takes the same power. A much lower reading failed or was altered.

## What to do
Look for failed readings in samples.csv.gz around both windows. Measure the model again.

## Source
The results that Yang, Adámek and Armour released, where twins have other weights: of 2 305 results
with a twin at equal throughput 16 are apart, 14 of them on the H100 with PyTorch and 2 on the A100
with TensorRT. Eleven have power below 80 % of the cap and a twin with sound power, such as
eva_large_patch14_196: 91 W against 309 W at 230 images/s. Over all twins the energy differs by 0.2
to 1.1 % in the median. In a study of 28 models on four H200s, by the counter, 60 short windows
differ by at most 3.7 % from the long window on the same board, and 22 by at most 8.3 % from that on
another board.
"""

from collections.abc import Iterator

from rules.bundle_format.study_records import POINTS_FILE
from rules.finding import Severity, Violation
from rules.rule import StudyRule
from rules.studies.bundle import StudyBundle
from rules.studies.plausibility import (
    EQUAL_THROUGHPUT,
    POWER_APART,
    POWER_APART_FROM_TWIN,
    find_low_twins,
)

RULE = StudyRule(__name__, POWER_APART_FROM_TWIN, Severity.WARNING, added="1.7.0", statistical=True)


@RULE.check
def check(bundle: StudyBundle) -> Iterator[Violation]:
    twins = bundle.twins
    for place, other in find_low_twins(twins.groups, twins.observations).items():
        number, other_number = twins.numbers[place], twins.numbers[other]
        power_w, other_w = (twins.observations[i].mean_power_w for i in (place, other))
        yield Violation(
            POINTS_FILE,
            f"row {number + 1}",
            f"{bundle.points[number]}: {power_w:.1f} W, and {other_w:.1f} W in row "
            f"{other_number + 1} at a throughput within {100 * EQUAL_THROUGHPUT:g} %",
            f"power within {100 * POWER_APART:g} %",
        )
