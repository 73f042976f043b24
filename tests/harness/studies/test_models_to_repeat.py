"""Models that `--resume` measures again because the anchors of their board drifted."""

from pathlib import Path

from harness.studies.models_to_repeat import drop_models_to_repeat
from rules.bundle_format.study_records import StudyEvidence
from rules.studies.bundle import StudyBundle
from rules.studies.declaration import NOT_REACHED
from rules.testing.frames import StudyFrames
from rules.testing.studies import make_study_frames
from rules.testing.study_mutations import find_points, scale_readings, select_samples


def drop(study: StudyFrames) -> tuple[StudyBundle, StudyBundle]:
    """The study, and what is left of it."""
    evidence = study.evidence()
    return open_study(evidence), open_study(drop_models_to_repeat(Path(), evidence))


def open_study(evidence: StudyEvidence) -> StudyBundle:
    return StudyBundle(Path(), (), evidence)


def test_study_without_drift_keeps_all_models() -> None:
    before, after = drop(make_study_frames(sessions=2))
    assert after.points == before.points


def test_models_of_a_drifted_board_are_measured_again() -> None:
    study = make_study_frames(sessions=2)
    scale_readings(study, select_samples(study, [find_points(study, kind="anchor")[-1]]), 1.03)
    before, after = drop(study)
    first_session = tuple(point for point in before.points if point.session == 0)
    assert 0 < len(first_session) < len(before.points)
    assert after.points == first_session
    for number, parts in after.parts_of.items():
        point = after.points[number]
        assert (parts[0].start_ns, parts[-1].end_ns) == (point.start_ns, point.end_ns)
    unreached = [entry.key for entry in after.declaration.work if entry.status == NOT_REACHED]
    assert unreached == [entry.key for entry in before.declaration.work if entry.session == 1]


def test_board_with_the_ladder_of_the_anchor_keeps_its_models() -> None:
    study = make_study_frames(sessions=2)
    scale_readings(study, select_samples(study, [find_points(study, kind="anchor")[1]]), 1.03)
    before, after = drop(study)
    assert after.points == before.points
