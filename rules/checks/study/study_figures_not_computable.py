"""The figures of a study cannot be computed

## What it does
Computes time, images and energy of each point from points, parts and samples, and reports why that
is not possible.

## Why it is bad
A figure that nobody can compute again is a claim without evidence.

## What to do
Restore the tables from the machine that measured, or measure the models again.

## Source
The figures of points (docs/image-inference.md), and rule T101 on runs.
"""

from collections.abc import Iterator

from rules.bundle_format.study_records import POINTS_FILE
from rules.finding import Severity, Violation
from rules.rule import StudyRule
from rules.studies.bundle import StudyBundle

RULE = StudyRule(__name__, "Y116", Severity.ERROR, added="1.7.0", waivable=False)


@RULE.check
def check(bundle: StudyBundle) -> Iterator[Violation]:
    if bundle.point_figures_error:
        yield Violation(POINTS_FILE, "", bundle.point_figures_error, "figures of every point")
