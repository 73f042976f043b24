"""Anchors are missing

## What it does
Looks for long windows of the anchor model on each board of each session: before the first model,
after each number of models that the settings name (20), and after the last one. The first anchor of
a study follows a ladder of the anchor model. Anchors have the engine and the precision of the first
entry of the work.

## Why it is bad
Energy drifts with the temperature of the room and the age of a session. Without anchors nobody
knows by how much, and two boards cannot be compared.

## What to do
Continue the study with `--resume` to its end. A session that a crash ended has no last anchor: this
warning then stands.

## Source
Method 1.0 of studies (docs/image-inference.md).
"""

from collections.abc import Iterator

from rules.bundle_format.study_records import POINTS_FILE
from rules.finding import Severity, Violation
from rules.rule import StudyRule
from rules.studies.bundle import StudyBundle

RULE = StudyRule(__name__, "Y114", Severity.WARNING, added="1.7.0")


@RULE.check
def check(bundle: StudyBundle) -> Iterator[Violation]:
    setting, first = bundle.declaration.settings.anchor, bundle.declaration.work[0]
    key = (setting.architecture, setting.size, first.engine, first.precision)
    has_ladder = False
    for board, measurements in bundle.measurements_of.items():
        since_anchor: int | None = None  # models since the last anchor
        place = f"on {board[1]} in {board[0]}"
        for measurement in measurements:
            row = f"row {measurement.numbers[0] + 1}"
            if measurement.anchors:
                since_anchor = 0
                has_ladder |= bool(measurement.steps)
                if measurement.first.key != key or not has_ladder:
                    yield Violation(
                        POINTS_FILE,
                        row,
                        f"{measurement.first.model}, an anchor",
                        f"{key[0]}@{key[1]} {key[2]} {key[3]}, at first after its ladder",
                    )
            elif since_anchor in (None, setting.every):
                found = f"no anchor before {measurement.first.model} {place}"
                expected = f"an anchor first, and after each {setting.every} models"
                yield Violation(POINTS_FILE, row, found, expected)
                since_anchor = 1
            elif since_anchor is not None:
                since_anchor += 1
        if since_anchor:
            row = f"row {measurements[-1].numbers[-1] + 1}"
            yield Violation(
                POINTS_FILE, row, f"no anchor after the last model {place}", "an anchor"
            )
