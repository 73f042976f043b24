"""Models of a study that have to be measured again: the sampler was stopped during one of their
windows, so that a rule refuses the study."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from rules.bundle_format.study_records import (
    ANCHOR,
    POINT_COLUMNS,
    STUDY_BATCH_COLUMNS,
    StudyEvidence,
)
from rules.bundle_format.table import Table, join_tables
from rules.studies.bundle import StudyBundle
from rules.studies.declaration import NOT_REACHED


def drop_unsampled_models(path: Path, evidence: StudyEvidence) -> StudyEvidence:
    """Return the evidence of the study in `path` without the points of models that have a window
    with longer gaps than the protocol allows. Their entries become entries that no session has
    reached. An anchor stays, because it cannot be measured again."""
    bundle = StudyBundle(path, (), evidence)
    models = {
        bundle.points[number].key
        for number in bundle.list_unsampled()
        if bundle.points[number].kind != ANCHOR
    }
    if not models:
        return evidence
    numbers = [
        number
        for number, point in enumerate(bundle.points)
        if point.kind == ANCHOR or point.key not in models
    ]
    unreached = {"status": NOT_REACHED, "reason": None, "session": None, "accelerator": None}
    work = [
        record | unreached if entry.key in models else record
        for record, entry in zip(evidence.study["work"], bundle.declaration.work, strict=True)
    ]
    return replace(
        evidence,
        study=evidence.study | {"work": work},
        points=join_tables([evidence.points.at(np.array(numbers, np.int64))], POINT_COLUMNS),
        batches=select_parts(evidence.batches, numbers),
    )


def select_parts(batches: Table, points: Sequence[int]) -> Table:
    """Return the parts of some points, numbered anew in the order of `points`, which rises."""
    numbers = np.array(points, np.int64)
    parts = batches.at(np.isin(batches.ints("point"), numbers))
    whole = join_tables([parts], STUDY_BATCH_COLUMNS)
    return Table.of({**whole.columns, "point": np.searchsorted(numbers, parts.ints("point"))})
