"""Implementations for tests of the harness: a few matrix products, and ways to go wrong. Loaded by
name by the workers."""

import errno
import gc
import os
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from rules.contract import Built, Job, Recorder

HIGHEST_STABLE_BATCH = 13


def build(job: Job) -> Built:
    """Fit a linear map by gradient descent, in NumPy: to import torch takes longer than the run.

    Its loss falls from epoch to epoch. Implementations with torch are those of the reference
    workloads and of `examples/`, which other tests run.
    """
    random = np.random.default_rng(job.seed + job.rank)
    weights = random.normal(size=(64, 64))
    batch = random.normal(size=(job.batch_size, 64))

    def run(recorder: Recorder) -> None:
        nonlocal weights
        while recorder.more():
            recorder.start()
            output = batch @ weights
            weights = weights - 1e-4 * batch.T @ output
            time.sleep(0.002)
            recorder.end(items=job.batch_size, loss=np.square(output).mean())

    return Built(
        run, "fp32", 25_557_032, (3, 64, 64), {"threads": os.environ.get("OMP_NUM_THREADS")}
    )


def build_hungry(job: Job) -> Built:
    if job.batch_size > HIGHEST_STABLE_BATCH:
        import torch

        raise torch.OutOfMemoryError(
            f"tried to allocate {job.batch_size} GiB\nand a long explanation"
        )
    return build(job)


def build_small(job: Job) -> Built:
    return replace(build(job), parameters=4160)


def build_broken(job: Job) -> Built:
    raise RuntimeError("this implementation is broken")


def build_on_full_disk(job: Job) -> Built:
    raise OSError(errno.ENOSPC, "No space left on device")


def build_diverging(job: Job) -> Built:
    return replace_loss(build(job), job, lambda: float("nan"))


def build_garbage_counting(job: Job) -> Built:
    """Its loss is the number of objects that Python does not search for garbage."""
    return replace_loss(build(job), job, gc.get_freeze_count)


def replace_loss(built: Built, job: Job, loss: Callable[[], float]) -> Built:
    """Run batches without work, with the loss that `loss` returns."""

    def run(recorder: Recorder) -> None:
        while recorder.more():
            recorder.start()
            time.sleep(0.002)
            recorder.end(items=job.batch_size, loss=loss())

    return replace(built, run=run)


def build_faulty_burn(job: Job) -> Built:
    """The burn control with a bit of the last board that flips in every batch."""
    from reference import burn

    built = burn.build(job)
    blocks = built.run.keywords["blocks"]  # type: ignore[attr-defined]
    if job.rank < job.world_size - 1:
        return built

    class Recorder:
        def __init__(self, recorder: Any) -> None:
            self.more, self.start, self._end = recorder.more, recorder.start, recorder.end

        def end(self, items: int) -> None:
            self._end(items)
            blocks[1].view(blocks.dtype).flatten()[3] += 1

    return replace(built, run=lambda recorder: built.run(Recorder(recorder)))
