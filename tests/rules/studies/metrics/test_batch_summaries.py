"""The models of a setup at each batch size."""

from dataclasses import replace
from statistics import median

import pytest
from support.rules.model_results import make_result

from rules.studies.metrics.batches import summarize_batches
from rules.studies.results import BatchFigures, ModelResult


def make_ladder(name: str, *steps: tuple[int, float, float]) -> ModelResult:
    """A model with (batch, images/s, J per image) of each step."""
    batches = tuple(BatchFigures(b, rate, joules, rate * joules) for b, rate, joules in steps)
    best = min(batches, key=lambda step: step.joules_per_image)
    return replace(make_result(name, best.joules_per_image), best=best, batches=batches)


def test_each_model_counts_relative_to_its_own_best() -> None:
    models = [
        make_ladder("a", (1, 100.0, 2.0), (2, 200.0, 1.0), (4, 400.0, 1.5)),
        make_ladder("b", (1, 10.0, 9.0), (2, 40.0, 3.0)),
        make_ladder("c", (1, 30.0, 4.0), (2, 50.0, 5.0)),
        make_result("without batches", 1.0),
    ]
    first, second = summarize_batches(models, least_models=2)
    assert [(s.batch, s.models) for s in (first, second)] == [(1, 3), (2, 3)]
    assert first.throughput_share.median == pytest.approx(median([0.25, 0.25, 0.6]))
    assert first.energy_ratio.median == pytest.approx(median([2.0, 3.0, 1.0]))
    assert first.power_w.median == pytest.approx(median([200.0, 90.0, 120.0]))
    assert second.energy_ratio.median == pytest.approx(median([1.0, 1.0, 1.25]))
    for summary in (first, second):
        for quartiles in (summary.throughput_share, summary.power_w, summary.energy_ratio):
            assert quartiles.low <= quartiles.median <= quartiles.high
    # A batch size that one model ran has no median.
    assert [s.batch for s in summarize_batches(models, least_models=1)] == [1, 2, 4]
