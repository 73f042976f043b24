"""The order of the models does not follow from the seed

## What it does
Compares the order of the work, and that of the points of each board, with the order that the seed
gives. Entries that were added on `--resume` follow the earlier ones, in an order of their own, so
there are at most as many such parts as sessions.

## Why it is bad
In a random order, drift over the study looks like noise and does not favour any model. Somebody who
chooses the order can give a model the coolest board, or the last word.

## What to do
Nothing can be mended afterwards. Measure with `bench-submit study`, which orders the work.

## Source
Method 1.0 of studies (docs/image-inference.md).
"""

from collections.abc import Iterator
from itertools import pairwise

from rules.bundle_format.study_records import POINTS_FILE, STUDY_FILE
from rules.finding import Severity, Violation
from rules.rule import StudyRule
from rules.studies.bundle import StudyBundle
from rules.studies.order import rank_entry

RULE = StudyRule(__name__, "Y118", Severity.ERROR, added="1.7.0")


@RULE.check
def check(bundle: StudyBundle) -> Iterator[Violation]:
    declaration = bundle.declaration
    ranks = [rank_entry(entry, declaration.seed) for entry in declaration.work]
    falls = [place for place, (rank, later) in enumerate(pairwise(ranks), 1) if later < rank]
    if len(falls) >= len(bundle.sessions):
        first = falls[0]
        yield Violation(
            STUDY_FILE,
            f"/work/{first}",
            f"{declaration.work[first].architecture}@{declaration.work[first].size}, the first of "
            f"{len(falls)} entries that follow one of a later place by seed {declaration.seed}",
            f"at most {len(bundle.sessions) - 1}, one for each part added with --resume",
        )
    places = {entry.key: place for place, entry in enumerate(declaration.work)}
    for measurements in bundle.measurements_of.values():
        models = [m for m in measurements if m.longs and m.first.key in places]
        for earlier, later in pairwise(models):
            if places[later.first.key] < places[earlier.first.key]:
                yield Violation(
                    POINTS_FILE,
                    f"row {later.numbers[0] + 1}",
                    f"{later.first.model} after {earlier.first.model}",
                    f"before it, as /work of {STUDY_FILE} lists them",
                )
