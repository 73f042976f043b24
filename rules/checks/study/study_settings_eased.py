"""The settings of a study are easier than those of its method

## What it does
Compares where ladders end and how often the anchor is measured with the method: 8 192 images, three
sizes in a row more than 3 % above the least energy, and an anchor every 20 models.

## Why it is bad
A ladder that ends earlier may miss the least energy. Fewer anchors hide drift.

## What to do
Measure with the settings of the method.

## Source
Method 1.0 of studies (docs/image-inference.md).
"""

from collections.abc import Iterator

from rules.bundle_format.study_records import STUDY_FILE
from rules.finding import Severity, Violation
from rules.rule import StudyRule
from rules.studies.bundle import StudyBundle

RULE = StudyRule(__name__, "Y128", Severity.ERROR, added="1.7.0", standings=("study",))

MAX_BATCH, EARLY_STOP_SIZES, EARLY_STOP_SHARE, ANCHOR_EVERY = 8192, 3, 0.03, 20


@RULE.check
def check(bundle: StudyBundle) -> Iterator[Violation]:
    settings = bundle.declaration.settings
    for name, value, least in (
        ("max_batch", settings.max_batch, MAX_BATCH),
        ("early_stop_sizes", settings.early_stop_sizes, EARLY_STOP_SIZES),
        ("early_stop_share", settings.early_stop_share, EARLY_STOP_SHARE),
    ):
        if value < least:
            yield Violation(STUDY_FILE, f"/settings/{name}", f"{value:g}", f"at least {least:g}")
    if settings.anchor.every > ANCHOR_EVERY:
        every = f"{settings.anchor.every}"
        yield Violation(STUDY_FILE, "/settings/anchor/every", every, f"at most {ANCHOR_EVERY}")
