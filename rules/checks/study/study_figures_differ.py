"""The figures of study.json differ from those of its tables

## What it does
Computes all figures again from points, parts, samples and the shipped table of accuracy, and
compares them with `figures` in study.json. If the study names another table of accuracy, the fronts
are not compared (Y113).

## Why it is bad
The figures of a study follow from its tables. Other figures were altered, or come from another
program.

## What to do
Restore study.json from the machine that measured.

## Source
Rules T102 and T103 on runs. Figures have six digits, and may differ by 0.002 %.
"""

from collections.abc import Iterator

from rules.bundle_format.study_records import STUDY_FILE
from rules.finding import Severity, Violation
from rules.metrics.energy import MetricsError
from rules.rule import StudyRule
from rules.studies.accuracy import read_shipped_table
from rules.studies.bundle import StudyBundle
from rules.studies.figures import compute_study_figures
from rules.studies.figures_json import (
    DEPENDENT_ON_ACCURACIES,
    find_figure_differences,
    study_figures_to_json,
)

RULE = StudyRule(__name__, "Y129", Severity.ERROR, added="1.7.0", waivable=False)


@RULE.check
def check(bundle: StudyBundle) -> Iterator[Violation]:
    table = read_shipped_table()
    try:
        computed = study_figures_to_json(compute_study_figures(bundle, table))
    except MetricsError as error:
        # Y116 reports points without figures.
        if bundle.point_figures is not None:
            yield Violation(STUDY_FILE, "/figures", str(error), "figures that can be computed")
        return
    if bundle.declaration.accuracy.sha256 != table.sha256:
        del computed[DEPENDENT_ON_ACCURACIES]
    for pointer, stated, expected in find_figure_differences(bundle.study["figures"], computed):
        yield Violation(STUDY_FILE, pointer, f"{stated}", f"{expected}, as the tables give")
