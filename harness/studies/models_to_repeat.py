"""Models of a study that have to be measured again, because a rule doubts or refuses their
windows: the sampler was stopped during one of them, or the anchors of their board drifted."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from rules.bundle_format.evidence import StudyEvidence
from rules.bundle_format.study_records import ANCHOR, POINT_COLUMNS, STUDY_BATCH_COLUMNS
from rules.bundle_format.table import Table, join_tables
from rules.studies.bundle import StudyBundle
from rules.studies.declaration import NOT_REACHED
from rules.studies.metrics.anchors import MAX_DRIFT, compute_drifts


def drop_models_to_repeat(path: Path, evidence: StudyEvidence) -> StudyEvidence:
    """Return the evidence of the study in `path` without the points of models that have to be
    measured again. Their entries become entries that no session has reached.

    An anchor stays while a result rests on its board and session, because it cannot be measured
    again."""
    bundle = StudyBundle(path, (), evidence)
    dropped = list_unsampled_points(bundle) | list_drifted_points(bundle)
    if not dropped:
        return evidence
    models = {bundle.points[number].key for number in dropped if not is_anchor(bundle, number)}
    numbers = [number for number in range(len(bundle.points)) if number not in dropped]
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


def is_anchor(bundle: StudyBundle, number: int) -> bool:
    return bundle.points[number].kind == ANCHOR


def list_unsampled_points(bundle: StudyBundle) -> set[int]:
    """The points of models that have a window with longer gaps than the protocol allows."""
    models = {
        bundle.points[number].key
        for number in bundle.list_unsampled()
        if not is_anchor(bundle, number)
    }
    return {
        number
        for number, point in enumerate(bundle.points)
        if point.key in models and not is_anchor(bundle, number)
    }


def list_drifted_points(bundle: StudyBundle) -> set[int]:
    """The points of the boards whose anchors drifted in a session by more than the rule Y115
    allows. A board that climbed the ladder of the anchor keeps its points: the anchors of all
    sessions have the batch size of that ladder. A demo keeps all, because its windows may be too
    short to show drift."""
    if bundle.point_figures is None or bundle.judged_standing == "demo":
        return set()
    drifted = {
        (drift.session, drift.accelerator)
        for drift in compute_drifts(bundle.point_table, bundle.point_figures)
        if abs(drift.drift) > MAX_DRIFT
    }
    return {
        number
        for measurements in bundle.measurements_of.values()
        if not any(measurement.anchors and measurement.steps for measurement in measurements)
        for measurement in measurements
        for number in measurement.numbers
        if (measurement.first.session, measurement.first.accelerator) in drifted
    }


def select_parts(batches: Table, points: Sequence[int]) -> Table:
    """Return the parts of some points, numbered anew in the order of `points`, which rises."""
    numbers = np.array(points, np.int64)
    parts = batches.at(np.isin(batches.ints("point"), numbers))
    whole = join_tables([parts], STUDY_BATCH_COLUMNS)
    return Table.of({**whole.columns, "point": np.searchsorted(numbers, parts.ints("point"))})
