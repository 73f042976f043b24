"""Models of a study that have to be measured again: the sampler was stopped during one of their
windows, so that a rule refuses the study."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from rules.bundle_format.records import TEXT_COLUMNS
from rules.bundle_format.study_records import ANCHOR, STUDY_BATCH_COLUMNS, StudyEvidence
from rules.bundle_format.table import Rows, Table
from rules.studies.bundle import StudyBundle
from rules.studies.declaration import NOT_REACHED

MODEL_COLUMNS = ("architecture", "size", "engine", "precision")


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
        entry | unreached if tuple(entry[name] for name in MODEL_COLUMNS) in models else entry
        for entry in evidence.study["work"]
    ]
    return replace(
        evidence,
        study=evidence.study | {"work": work},
        points=copy_rows(evidence.points, np.array(numbers, np.int64)),
        batches=select_parts(evidence.batches, numbers),
    )


def select_parts(batches: Table, points: list[int]) -> Table:
    """Return the parts of some points, which are numbered anew in the order of `points`."""
    numbers = np.array(points, np.int64)
    point_of_part = batches.ints("point")
    parts = copy_rows(batches, np.isin(point_of_part, numbers))
    columns = {name: parts.columns[name] for name in STUDY_BATCH_COLUMNS}
    return Table.of(columns | {"point": np.searchsorted(numbers, parts.ints("point"))})


def copy_rows(table: Table, rows: Rows) -> Table:
    """Return a whole table of some rows."""
    selection = table.at(rows)
    return Table.of(
        {
            name: selection.text(name) if name in TEXT_COLUMNS else column[selection.places]
            for name, column in table.columns.items()
        }
    )
