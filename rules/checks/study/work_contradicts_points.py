"""The work that a study states contradicts its points

## What it does
Compares the entries of the work with points.csv.gz. A measured entry has one ladder with long
windows, in its session and on its accelerator. An entry that was skipped or not reached has none.
Every model with points is an entry, or the anchor. Engines and precisions are those of the
settings.

## Why it is bad
The work says what a study tried. Points without an entry were added, and entries without their
points were removed or never measured.

## What to do
Restore study.json and points.csv.gz from the machine that measured, or measure again.

## Source
The format of studies (docs/bundle-format.md).
"""

from collections import Counter
from collections.abc import Iterator

from rules.bundle_format.study_records import POINTS_FILE, STUDY_FILE
from rules.finding import Severity, Violation, format_count
from rules.rule import StudyRule
from rules.studies.bundle import StudyBundle
from rules.studies.declaration import MEASURED

RULE = StudyRule(__name__, "Y119", Severity.ERROR, added="1.7.0", waivable=False)


@RULE.check
def check(bundle: StudyBundle) -> Iterator[Violation]:
    declaration, settings = bundle.declaration, bundle.declaration.settings
    entries = {entry.key: entry for entry in declaration.work}
    ladders = Counter(m.first.key for m in bundle.measurements if not m.anchors)
    for entry in declaration.work:
        count, expected = ladders[entry.key], 1 if entry.status == MEASURED else 0
        if count != expected:
            found = f"{entry.architecture}@{entry.size} {entry.engine} {entry.precision}"
            count_text = format_count(count, "ladder")
            yield Violation(
                STUDY_FILE,
                entry.pointer,
                f"{found} is {entry.status} and has {count_text} in {POINTS_FILE}",
                f"{expected}",
            )
        if entry.engine not in settings.engines or entry.precision not in settings.precisions:
            found = f"{entry.engine} {entry.precision}"
            yield Violation(
                STUDY_FILE, entry.pointer, found, "an engine and precision of /settings"
            )
    if len(entries) < len(declaration.work):
        yield Violation(STUDY_FILE, "/work", "an entry that is listed twice", "each entry once")
    for measurement in bundle.measurements:
        if measurement.anchors:
            continue  # Y114 looks at anchors.
        point, place = measurement.first, f"row {measurement.numbers[0] + 1}"
        stated = entries.get(point.key)
        if stated is None:
            yield Violation(
                POINTS_FILE, place, f"{point.model}", f"an entry of /work in {STUDY_FILE}"
            )
        elif (stated.session, stated.accelerator) != (point.session, point.accelerator):
            yield Violation(
                POINTS_FILE,
                place,
                f"{point.model} on {point.accelerator} in session {point.session}",
                f"{stated.accelerator} in session {stated.session}, as {stated.pointer} states",
            )
