"""What follows from the published trends, and boards and models after them."""

from pathlib import Path
from statistics import fmean

import pytest

from rules.boards import find_board
from rules.studies.trends.derived import ALEXNET, compute_mean_speedups, select_within_alexnet
from rules.studies.trends.estimators import HUMAN_EXTERNAL_POWER_W, HUMAN_POWER_W
from rules.studies.trends.later import LAST_YEAR, list_later_boards, list_later_models
from rules.studies.trends.reader import read_trends_study
from rules.studies.trends.records import TrendsStudy

TRENDS = Path(__file__).parents[3] / "submissions/published/desislavov2023/trends.json"


@pytest.fixture(scope="module")
def study() -> TrendsStudy:
    return read_trends_study(TRENDS)


def test_mean_speedups_are_those_that_the_rates_of_the_publication_imply(
    study: TrendsStudy,
) -> None:
    means = {(m.task, m.board, m.precision): m for m in compute_mean_speedups(study)}
    of_t4 = [
        s.speedup
        for s in study.speedups
        if s.task == "CV" and s.board.startswith("T4") and s.precision == "Mixed"
    ]
    assert means["CV", "T4", "Mixed"].speedup == pytest.approx(fmean(of_t4))
    assert means["CV", "T4", "Mixed"].n == len(of_t4) == 4
    assert len(means) == 8
    for mean in means.values():
        assert mean.speedup == pytest.approx(mean.implied, rel=2e-3)


def test_models_within_alexnet_get_more_accurate_at_no_more_flops(study: TrendsStudy) -> None:
    models = select_within_alexnet(study.vision_models)
    limit = next(m.gflops for m in study.vision_models if m.model == ALEXNET)
    assert models[0].model == ALEXNET and len(models) > 3 and limit is not None
    assert all(m.gflops is not None and m.gflops <= limit for m in models)
    accuracies = [m.accuracy_pct or 0.0 for m in models]
    assert accuracies == sorted(accuracies) and len(set(accuracies)) == len(accuracies)
    # No model between two of them is more accurate.
    best = max(
        m.accuracy_pct
        for m in study.vision_models
        if m.accuracy_pct is not None and m.released and m.gflops and m.gflops <= limit
    )
    assert accuracies[-1] == best
    assert select_within_alexnet(models[1:]) == []


def test_human_power_is_that_of_the_publication() -> None:
    # The publication gives about 100 and 10 000 J a second.
    assert pytest.approx(96.85, abs=0.01) == HUMAN_POWER_W
    assert pytest.approx(9120, abs=1) == HUMAN_EXTERNAL_POWER_W


def test_later_boards_are_those_of_data_sheets() -> None:
    later = list_later_boards()
    ids = {board.board.id for board in later}
    assert {"H100", "H200", "B200", "MI300X"} <= ids and "A100" not in ids
    for board in later:
        known = find_board(board.board.id)
        assert known is not None and known.max_power_w is not None
        peak = known.peak_tflops[board.precision]
        assert board.gflops_per_w == pytest.approx(1e3 * peak / known.max_power_w)
        assert board.launch.released.year > LAST_YEAR and board.board.sources


def test_later_models_are_the_most_accurate_of_their_papers() -> None:
    later = list_later_models()
    numbers = [model.publication.number for model in later]
    assert len(set(numbers)) == len(numbers) > 20
    assert [m.released for m in later] == sorted(m.released for m in later)
    assert all(m.publication.year > LAST_YEAR for m in later)
    eva = next(m for m in later if m.publication.number == "2303.11331")
    assert eva.accuracy_pct == 90.056 and eva.model.flops == pytest.approx(724.66e9)
