"""The study names another table of accuracy than the shipped one

## What it does
Compares the SHA-256 of the table of published accuracy that the study names with that of the table
that comes with the rule book.

## Why it is bad
Accuracy is published and not measured, so it is as good as its table. Figures with accuracy are
computed with the shipped table, and those of study.json cannot be compared with them.

## What to do
Measure without `--accuracy`, or send the table to the maintainers of wattmark.

## Source
huggingface/pytorch-image-models, the results that timm publishes.
"""

from collections.abc import Iterator

from rules.bundle_format.study_records import STUDY_FILE
from rules.finding import Severity, Violation
from rules.rule import StudyRule
from rules.studies.accuracy import read_shipped_table
from rules.studies.bundle import StudyBundle

RULE = StudyRule(__name__, "Y113", Severity.WARNING, added="1.7.0")


@RULE.check
def check(bundle: StudyBundle) -> Iterator[Violation]:
    stated, shipped = bundle.declaration.accuracy.sha256, read_shipped_table().sha256
    if stated != shipped:
        yield Violation(STUDY_FILE, "/accuracy/sha256", stated, shipped)
