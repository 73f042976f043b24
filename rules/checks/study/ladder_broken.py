"""A ladder of batch sizes has gaps or does not end where it must

## What it does
Climbs each ladder again, with the energy of its windows by the method of its session: by the energy
counter in method 1.1, by the mean power of the samples in method 1.0 and on boards without a
counter. The batch sizes must be 1, 2, 4 and so on. The ladder must end at the first size that does
not run, at the largest size of the settings, or after as many sizes in a row above the least energy
as the settings say, and not earlier or later.

## Why it is bad
The least energy of a model is that over all batch sizes. A ladder with gaps leaves out the size
that spoils the result, or ended for another reason than the recorded one.

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
from rules.studies.ladder import choose_next_batch
from rules.studies.measurements import Measurement

RULE = StudyRule(__name__, "Y105", Severity.ERROR, added="1.7.0")


@RULE.check
def check(bundle: StudyBundle) -> Iterator[Violation]:
    for measurement in bundle.measurements:
        # An anchor has the batch size that the first ladder of the anchor found.
        if measurement.steps or measurement.longs:
            yield from _check_ladder(bundle, measurement)


def _check_ladder(bundle: StudyBundle, measurement: Measurement) -> Iterator[Violation]:
    limits = bundle.declaration.settings.ladder_limits
    steps = bundle.list_steps(measurement)
    for place, number in enumerate(measurement.steps):
        expected = choose_next_batch(steps[:place], limits)
        if steps[place].batch != expected:
            end = f"the end of the ladder after {steps[place - 1].batch}"
            yield Violation(
                POINTS_FILE,
                f"row {number + 1}",
                f"{bundle.points[number]}",
                end if expected is None else f"batch {expected} next",
            )
            return
    expected = choose_next_batch(steps, limits)
    if expected is not None:
        last = (measurement.steps or measurement.longs)[-1]
        yield Violation(
            POINTS_FILE,
            f"row {last + 1}",
            f"the ladder of {measurement.first.model} ends at batch "
            f"{bundle.points[last].batch if measurement.steps else 0}",
            f"batch {expected} next: {_describe_limits(bundle)}",
        )


def _describe_limits(bundle: StudyBundle) -> str:
    settings = bundle.declaration.settings
    early = (
        ""
        if settings.full
        else f", or {settings.early_stop_sizes} sizes in a row more than "
        f"{100 * settings.early_stop_share:g} % above the least energy"
    )
    return f"a ladder ends at a size that does not run, at {settings.max_batch}{early}"
