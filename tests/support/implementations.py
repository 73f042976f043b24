"""Implementations for tests of the harness: a few matrix products, and ways to go wrong. Loaded by
name by the workers."""

import os
import time
from dataclasses import replace

import torch

from rules.contract import Built, Job, Recorder

HIGHEST_STABLE_BATCH = 13


def build(job: Job) -> Built:
    torch.manual_seed(job.seed + job.rank)
    layer = torch.nn.Linear(64, 64)
    optimiser = torch.optim.SGD(layer.parameters(), 0.01)
    batch = torch.randn(job.batch_size, 64)

    def run(recorder: Recorder) -> None:
        while recorder.more():
            recorder.start()
            loss = layer(batch).square().mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            time.sleep(0.002)
            recorder.end(items=job.batch_size, loss=loss.detach())

    return Built(
        run, "fp32", 25_557_032, (3, 64, 64), {"threads": os.environ.get("OMP_NUM_THREADS")}
    )


def build_hungry(job: Job) -> Built:
    if job.batch_size > HIGHEST_STABLE_BATCH:
        raise torch.OutOfMemoryError(
            f"tried to allocate {job.batch_size} GiB\nand a long explanation"
        )
    return build(job)


def build_small(job: Job) -> Built:
    return replace(build(job), parameters=4160)


def build_broken(job: Job) -> Built:
    raise RuntimeError("this implementation is broken")


def build_diverging(job: Job) -> Built:
    built = build(job)

    def run(recorder: Recorder) -> None:
        while recorder.more():
            recorder.start()
            time.sleep(0.002)
            recorder.end(items=job.batch_size, loss=torch.tensor(float("nan")))

    return Built(run, built.precision, built.parameters, built.input_shape, built.settings)
