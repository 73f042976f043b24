"""Batch sizes: where the least energy lies, and how far other batch sizes are from it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rules.studies.metrics.estimates import (
    GeometricMean,
    Median,
    estimate_geometric_mean,
    estimate_median,
)
from rules.studies.results import BatchFigures, ModelResult


@dataclass(frozen=True)
class BatchFindings:
    """Where the models of a setup need the least energy."""

    best_batch: Median
    best_power_w: Median
    """Mean power at the batch size of least energy."""
    best_share_of_cap: Median | None
    """The same as a share of the power cap."""
    best_is_largest_share: float
    """Share of the models that need the least energy at the largest batch size that ran."""
    throughput_share: GeometricMean
    """Throughput at the least energy over the highest throughput of the model."""
    batch_one_energy_ratio: GeometricMean | None
    """Energy per image at batch size 1 over the least energy; None if no model ran at 1."""


def find_batch(result: ModelResult, batch: int) -> BatchFigures | None:
    """The figures at a batch size; None if the model was not measured there."""
    return next((figures for figures in result.batches if figures.batch == batch), None)


def find_least_latency(result: ModelResult) -> BatchFigures | None:
    """The figures at the batch size of least latency; None if no latency is known."""
    known = [
        (figures.latency_s, figures.batch, figures)
        for figures in (*result.batches, result.best)
        if figures.latency_s is not None
    ]
    return min(known, key=lambda entry: entry[:2])[2] if known else None


def find_highest_throughput(result: ModelResult) -> BatchFigures:
    """The figures at the batch size of the highest throughput."""
    return max((*result.batches, result.best), key=lambda figures: figures.images_per_s)


def find_batch_findings(results: Sequence[ModelResult]) -> BatchFindings | None:
    """Where the models of one setup need the least energy. Models without figures at other batch
    sizes are left out. Returns None if there are no other models."""
    results = [result for result in results if result.batches]
    best_batch = estimate_median([result.best.batch for result in results])
    best_power_w = estimate_median([result.best.mean_power_w for result in results])
    throughput_share = estimate_geometric_mean(
        [
            result.best.images_per_s / find_highest_throughput(result).images_per_s
            for result in results
        ]
    )
    if best_batch is None or best_power_w is None or throughput_share is None:
        return None
    at_largest = [result.best.batch == result.max_batch for result in results]
    return BatchFindings(
        best_batch=best_batch,
        best_power_w=best_power_w,
        best_share_of_cap=estimate_median(
            [r.best.mean_power_w / r.setup.cap_w for r in results if r.setup.cap_w]
        ),
        best_is_largest_share=sum(at_largest) / len(at_largest),
        throughput_share=throughput_share,
        batch_one_energy_ratio=estimate_geometric_mean(
            [
                single.joules_per_image / result.best.joules_per_image
                for result in results
                if (single := find_batch(result, 1))
            ]
        ),
    )


@dataclass(frozen=True)
class Quartiles:
    """The median of a figure over models, with the lower and the upper quartile."""

    median: float
    low: float
    high: float


@dataclass(frozen=True)
class BatchSummary:
    """The models of a setup at one batch size."""

    batch: int
    models: int
    """How many ran at this batch size."""
    throughput_share: Quartiles
    """Images/s over the highest of the same model."""
    power_w: Quartiles
    energy_ratio: Quartiles
    """J per image over the least of the same model."""


def summarize_batches(results: Sequence[ModelResult], least_models: int) -> list[BatchSummary]:
    """Each batch size at which at least so many models of one setup ran, by size."""
    points: dict[int, list[tuple[ModelResult, BatchFigures]]] = {}
    for result in results:
        for figures in result.batches:
            points.setdefault(figures.batch, []).append((result, figures))

    def summarize(batch: int, read: Callable[[ModelResult, BatchFigures], float]) -> Quartiles:
        low, median, high = np.percentile([read(*point) for point in points[batch]], (25, 50, 75))
        return Quartiles(float(median), float(low), float(high))

    return [
        BatchSummary(
            batch=batch,
            models=len(points[batch]),
            throughput_share=summarize(
                batch, lambda r, at: at.images_per_s / find_highest_throughput(r).images_per_s
            ),
            power_w=summarize(batch, lambda _, at: at.mean_power_w),
            energy_ratio=summarize(
                batch, lambda r, at: at.joules_per_image / r.best.joules_per_image
            ),
        )
        for batch in sorted(points)
        if len(points[batch]) >= least_models
    ]
