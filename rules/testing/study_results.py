"""Results of studies made from published ones, as if a board had measured all batch sizes."""

import random
from collections.abc import Iterable, Iterator

from rules.studies.results import BatchFigures, ModelResult, Setup

_IDLE_SHARE, _HALF_BATCH = 0.3, 12
"""Share of the cap that a board draws without work, and the batch size of half its throughput."""


def make_measured_results(
    published: Iterable[ModelResult], setup: Setup, seed: int = 0
) -> Iterator[ModelResult]:
    """A result on `setup` for each published one, with the figures of all batch sizes up to 64 to
    8 192. The setup has a power cap."""
    generator = random.Random(seed)
    cap_w = setup.cap_w
    if cap_w is None:
        raise ValueError(f"the setup {setup.source} has no power cap")
    for result in published:
        highest = result.best.images_per_s * generator.uniform(1.2, 1.8)
        largest = generator.randint(6, 13)
        batches = [_make_batch(2**n, highest, cap_w) for n in range(largest + 1)]
        yield ModelResult(
            setup,
            result.architecture,
            result.tag,
            result.size,
            result.model_class,
            min(batches, key=lambda batch: batch.joules_per_image),
            tuple(batches),
            2**largest,
            result.flops,
            result.params,
            result.activations,
            result.accuracy_pct,
        )


def _make_batch(batch: int, highest_images_per_s: float, cap_w: float) -> BatchFigures:
    load = batch / (batch + _HALF_BATCH)
    images_per_s, power_w = highest_images_per_s * load, cap_w * (_IDLE_SHARE + 0.68 * load)
    joules = power_w / images_per_s
    return BatchFigures(
        batch,
        images_per_s,
        joules,
        power_w,
        joules_ci95=(0.997 * joules, 1.003 * joules),
        latency_s=batch / images_per_s,
        is_long=batch >= 64,
    )
