"""Models that `--resume` measures again: the sampler was stopped during a window, or the anchors of
their board drifted."""

from pathlib import Path

from harness.studies.models_to_repeat import drop_models_to_repeat
from rules.bundle_format.evidence import StudyEvidence
from rules.studies.bundle import StudyBundle
from rules.studies.declaration import NOT_REACHED
from rules.testing.frames import StudyFrames
from rules.testing.studies import make_study_frames
from rules.testing.study_mutations import MODEL, find_points, scale_readings, select_samples


def drop(study: StudyFrames) -> tuple[StudyBundle, StudyBundle]:
    """The study, and what is left of it."""
    evidence = study.evidence()
    return open_study(evidence), open_study(drop_models_to_repeat(Path(), evidence))


def open_study(evidence: StudyEvidence) -> StudyBundle:
    return StudyBundle(Path(), (), evidence)


def check_parts(bundle: StudyBundle) -> None:
    """The parts belong to their points."""
    for number, parts in bundle.parts_of.items():
        point = bundle.points[number]
        assert (parts[0].start_ns, parts[-1].end_ns) == (point.start_ns, point.end_ns)


def test_study_without_drift_keeps_all_models() -> None:
    before, after = drop(make_study_frames(sessions=2))
    assert after.points == before.points


def test_model_with_a_window_without_samples_is_measured_again() -> None:
    study = make_study_frames(sessions=2)
    number = find_points(study, MODEL, "long")[0]
    times_ns = study.samples["read_ns"].to_numpy()
    middle_ns = study.points.loc[number, ["start_ns", "end_ns"]].mean()
    is_gap = select_samples(study, [number]) & (abs(times_ns - middle_ns) < 350e6)
    study.samples = study.samples[~is_gap].reset_index(drop=True)
    before, after = drop(study)
    assert len(before.list_unsampled()) == 1 and not after.list_unsampled()
    models = {point.architecture for point in before.points}
    assert {point.architecture for point in after.points} == models - {MODEL}
    unreached = [entry for entry in after.declaration.work if entry.status == NOT_REACHED]
    assert [entry.architecture for entry in unreached] == [MODEL]
    check_parts(after)


def test_models_of_a_drifted_board_are_measured_again() -> None:
    study = make_study_frames(sessions=2)
    scale_readings(study, select_samples(study, [find_points(study, kind="anchor")[-1]]), 1.03)
    before, after = drop(study)
    first_session = tuple(point for point in before.points if point.session == 0)
    assert 0 < len(first_session) < len(before.points)
    assert after.points == first_session
    check_parts(after)
    unreached = [entry.key for entry in after.declaration.work if entry.status == NOT_REACHED]
    assert unreached == [entry.key for entry in before.declaration.work if entry.session == 1]


def test_board_with_the_ladder_of_the_anchor_keeps_its_models() -> None:
    study = make_study_frames(sessions=2)
    scale_readings(study, select_samples(study, [find_points(study, kind="anchor")[1]]), 1.03)
    before, after = drop(study)
    assert after.points == before.points
