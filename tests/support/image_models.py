"""Implementations for tests of the worker of studies: models that sleep, and ways to go wrong.
Loaded by name by the worker."""

import os
import sys
import time
import warnings
from collections.abc import Callable

from rules.study_contract import BatchRefused, ModelFacts, ModelJob, ModelRefused

LARGEST_BATCH = 8
BATCH_S = 0.002
CHATTER = "a library prints this"
PYTORCH_WARNING = "Synchronization debug mode"


class SleepingModel:
    """A model whose batches take `BATCH_S` each. A board has memory for one."""

    facts = ModelFacts(flops=30, params=20, activations=10)
    is_open = False

    def __init__(self, job: ModelJob) -> None:
        assert not SleepingModel.is_open
        SleepingModel.is_open = True
        self._architecture = job.architecture

    def prepare(self, batch: int) -> None:
        print(CHATTER)
        os.write(1, CHATTER.encode())
        warnings.warn(f"{PYTORCH_WARNING} is a prototype feature", stacklevel=2)
        if batch > LARGEST_BATCH:
            raise BatchRefused("out-of-memory", f"{batch} images do not fit")
        if self._architecture == "broken":
            raise RuntimeError("an illegal access\nand a long explanation")
        if self._architecture == "reading":
            assert sys.stdin.read() == ""

    def run(self, batches: int, parts: int, mark: Callable[[], None]) -> None:
        mark()
        for _ in range(parts):
            time.sleep(batches * BATCH_S)
            if self._architecture != "unmarked":
                mark()

    def peak_bytes(self) -> int:
        return 7

    def close(self) -> None:
        assert SleepingModel.is_open
        SleepingModel.is_open = False


def open_model(job: ModelJob) -> SleepingModel:
    if job.size != 224:
        raise ModelRefused(f"this model takes 224 pixels, not {job.size}")
    return SleepingModel(job)
