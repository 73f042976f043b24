"""Long windows are not at the two batch sizes of least energy

## What it does
Looks for the two batch sizes of least energy per image in each ladder and compares them with the
batch sizes of the long windows. Each model needs both. An anchor needs the batch size of least
energy of the first ladder of the anchor. The energy is that by the method of the session: by the
energy counter in method 1.1, by the mean power of the samples in method 1.0 and on boards without a
counter.

## Why it is bad
The result of a model is its least energy. Long windows at other sizes show another result, and two
long windows of which one is left out allow a choice afterwards.

## What to do
Nothing can be mended afterwards. Measure the model in a new study.

## Source
Methods 1.0 and 1.1 of studies (docs/image-inference.md).
"""

from collections.abc import Iterator

from rules.bundle_format.study_records import POINTS_FILE
from rules.finding import Severity, Violation
from rules.rule import StudyRule
from rules.studies.bundle import StudyBundle
from rules.studies.ladder import choose_long_batches

RULE = StudyRule(__name__, "Y106", Severity.ERROR, added="1.7.0")


@RULE.check
def check(bundle: StudyBundle) -> Iterator[Violation]:
    anchor_batch: int | None = None
    for measurement in bundle.measurements:
        least = choose_long_batches(bundle.list_steps(measurement))
        if measurement.anchors and anchor_batch is None and least:
            anchor_batch = least[0]
        expected = least if not measurement.anchors else (anchor_batch,)
        numbers = measurement.longs + measurement.anchors
        batches = sorted(bundle.points[number].batch for number in numbers)
        if anchor_batch is None and measurement.anchors:
            continue  # Y114 reports the missing ladder of the anchor.
        if batches != sorted(b for b in expected if b is not None):
            place = (numbers or measurement.steps)[0]
            listed = ", ".join(map(str, batches))
            yield Violation(
                POINTS_FILE,
                f"row {place + 1}",
                f"{measurement.first.model}: "
                + (f"long windows at batch {listed}" if batches else "no long window"),
                f"at batch {', '.join(map(str, expected))}, of least energy in the ladder",
            )
