"""The order of the models does not follow from the seed

## What it does
Compares the order of the work, and that of the points of each board in each session, with the
order that the seed gives. In the work, entries that were added on `--resume` follow the earlier
ones, in an order of their own. The session that added them, or a later one, measured them.

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
    part = 0  # 1 for the entries that the first --resume added, and so on
    for place, (previous, entry) in enumerate(pairwise(declaration.work), 1):
        part += rank_entry(entry, declaration.seed) < rank_entry(previous, declaration.seed)
        session = len(bundle.sessions) - 1 if entry.session is None else entry.session
        if session < part:
            yield Violation(
                STUDY_FILE,
                f"/work/{place}",
                f"{entry.architecture}@{entry.size} {entry.engine} {entry.precision} in session "
                f"{session}, after {part} falls in the order of seed {declaration.seed}",
                f"a fall only where session {part} or a later one added entries",
            )
            break
    entries = {entry.key for entry in declaration.work}
    for measurements in bundle.measurements_of.values():
        models = [m for m in measurements if m.longs and m.first.key in entries]
        for earlier, later in pairwise(models):
            ranks = [rank_entry(m.first, declaration.seed) for m in (earlier, later)]
            if ranks[1] < ranks[0]:
                yield Violation(
                    POINTS_FILE,
                    f"row {later.numbers[0] + 1}",
                    f"{later.first.model} after {earlier.first.model}",
                    f"before it, in the order of seed {declaration.seed}",
                )
