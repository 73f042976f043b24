"""The good study that tests and mutations start from."""

from rules.bundle_format.study_records import LONG, POINT_COLUMNS, STUDY_BATCH_COLUMNS
from rules.testing.studies import BOARDS, MODELS, make_study_frames


def test_good_study_has_every_model_on_each_setup_and_board() -> None:
    study = make_study_frames(
        setups=(("cudagraph", "bf16"), ("cudagraph", "tf32")), sessions=2
    ).evidence()
    assert tuple(study.points.columns) == POINT_COLUMNS
    assert tuple(study.batches.columns) == STUDY_BATCH_COLUMNS
    assert study.samples.text("node").distinct() == ["session0", "session1"]
    assert study.samples.text("accelerator").distinct() == list(BOARDS)
    assert len(study.study["work"]) == 2 * len(MODELS)
    # Each entry has two long windows.
    assert study.points.text("kind").equals(LONG).sum() == 4 * len(MODELS)


def test_good_study_is_the_same_each_time() -> None:
    first, second = make_study_frames(), make_study_frames()
    assert first.study == second.study
    assert first.samples.equals(second.samples)
    assert first.points.equals(second.points)
