"""Sentences on batch sizes of image models and on the power of whole nodes."""

from dataclasses import replace
from typing import Any

import pytest
from support.committed_runs import SUBMISSIONS
from support.rules.model_results import make_result

from reporting.collect import collect
from reporting.paper import Paper
from reporting.sentences.other_sources import describe_batch_sizes, describe_nodes
from reporting.study_record import PublicationOrigin, StudyRecord
from rules.boards import find_board
from rules.studies.figures import keep_sound
from rules.studies.metrics.batches import find_batch_findings
from rules.studies.results import BatchFigures, ModelResult

ORIGIN = PublicationOrigin("made", "Doe", "Made up", 2026, None)


def make_ladder(name: str, best: int, joules: dict[int, float], **setup: Any) -> ModelResult:
    """A model with a window at each batch size."""
    result = make_result(name, joules[best], 80)
    batches = tuple(BatchFigures(batch, 1000.0, energy, 400.0) for batch, energy in joules.items())
    chosen = next(figures for figures in batches if figures.batch == best)
    return replace(
        result,
        setup=replace(result.setup, **{"provenance": "measured"} | setup),
        best=chosen,
        batches=batches,
        max_batch=max(joules),
    )


def describe(*results: ModelResult) -> list[str]:
    return describe_batch_sizes([StudyRecord(results, ORIGIN)])


def test_batch_size_is_the_median_over_models_with_its_range_and_batch_one() -> None:
    ladders = [
        make_ladder(f"model{n}", best, {1: 0.4, best: 0.1})
        for n, best in enumerate((8, 32, 32, 32, 128))
    ]
    (sentence,) = describe(*ladders)
    assert sentence.startswith("Inference of 5 image models was measured on ")
    assert "batch size 32 needs the least energy in the median over models" in sentence
    assert "batch size 8\u2013128 by model" in sentence
    assert "batch size 1 takes 4.0 times this energy" in sentence


@pytest.mark.parametrize("provenance", ["published", "simulated", "demo"])
def test_batch_sizes_that_nobody_measured_are_not_stated(provenance: str) -> None:
    ladder = make_ladder("model", 32, {1: 0.4, 32: 0.1}, provenance=provenance)
    assert describe(ladder) == []


def test_models_with_one_batch_size_and_doubtful_ones_do_not_count() -> None:
    single = make_ladder("single", 32, {32: 0.1})
    doubtful = replace(make_ladder("doubtful", 32, {1: 0.4, 32: 0.1}), doubts=("Y201",))
    assert describe(single, doubtful) == []


def test_sentence_on_the_committed_study_has_its_figures() -> None:
    studies = collect([SUBMISSIONS]).studies
    (sentence,) = describe_batch_sizes(studies)
    setups: dict[Any, list[ModelResult]] = {}
    for study in studies:
        for result in keep_sound(study.results):
            if result.setup.provenance == "measured" and len(result.batches) > 1:
                setups.setdefault(result.setup, []).append(result)
    models = max(setups.values(), key=len)
    findings = find_batch_findings(models)
    assert findings is not None and findings.best_batch.ci95 is not None
    assert f"Inference of {len(models)} image models" in sentence
    low, high = findings.best_batch.ci95
    median = f"batch size {findings.best_batch.value:g} needs"
    assert median in sentence and f"interval {low:g} to {high:g})" in sentence


def make_paper(**node: Any) -> Paper:
    record = {"accelerator": "H100", "accelerators": 8, "work": "training", "control": False}
    return Paper.from_document(
        {
            "id": "doe",
            "standing": "published",
            "title": "Nodes",
            "authors": "Doe, Roe",
            "year": 2025,
            "url": "https://example.org",
            "notes": "",
            "nodes": [{**record, "place": "Table 1", **node}],
        }
    )


def test_printed_power_beside_accelerators_is_stated_with_its_source() -> None:
    paper = make_paper(mean_w=7000, beside_boards_low_w=170, beside_boards_high_w=200)
    assert describe_nodes([paper]) == [
        "Published, without intervals, beside each accelerator: 170\u2013200\u202fW in Doe et al. "
        "2025 (8\u202f\u00d7\u202fH100)."
    ]


def test_median_of_a_node_gives_a_lower_bound_beside_accelerators_at_full_power() -> None:
    board = find_board("H100")
    assert board is not None and board.max_power_w is not None
    (sentence,) = describe_nodes([make_paper(median_w=8 * (board.max_power_w + 290))])
    assert "at least 290\u202fW in Doe et al. 2025 (8\u202f\u00d7\u202fH100, training:" in sentence
    assert f"less {board.max_power_w:g}\u202fW for each accelerator" in sentence


@pytest.mark.parametrize(
    "node",
    [
        {"median_w": 8000.0, "control": True},
        {"median_w": 4000.0},
        {"median_w": 8000.0, "accelerator": "unknown board"},
        {"mean_w": 8000.0},
    ],
)
def test_node_without_a_known_bound_is_left_out(node: dict[str, Any]) -> None:
    assert describe_nodes([make_paper(**node)]) == []
