"""One process of a run, started by torchrun: `python -m harness.worker DIRECTORY`.

It builds the workload that `plan.json` names, hands it a recorder, and writes down what happens: batch windows to
`batches.RANK.csv` after each epoch and events, one JSON object a line, to `events.RANK.jsonl`. The harness reads both.
"""

import csv
import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import astuple
from pathlib import Path
from typing import IO, Any

from harness.plan import Plan
from harness.processes import LAUNCHER_VARIABLE, die_with_parent

if __name__ == "__main__":
    die_with_parent(int(os.environ[LAUNCHER_VARIABLE]))  # before torch is imported, which takes seconds

import torch

from harness.recorder import Clock, CudaClock, EpochRecorder, HostClock
from harness.system import source_hash
from rules.contract import Built, Job
from rules.records import BATCH_COLUMNS, BatchWindow

FAILED = 1


class Diary:
    """The two files that a worker leaves; every entry is on disk before the next batch runs."""

    def __init__(self, directory: Path, rank: int) -> None:
        self._rank = rank
        self._events = (directory / f"events.{rank}.jsonl").open("w")
        self._batches = (directory / f"batches.{rank}.csv").open("w", newline="")
        self._writer = csv.writer(self._batches, lineterminator="\n")
        self._writer.writerow(BATCH_COLUMNS)

    def event(self, name: str, **facts: Any) -> None:
        self._events.write(json.dumps({"event": name, "rank": self._rank, **facts}) + "\n")
        _durable(self._events)

    def epoch(self, epoch: int, windows: list[BatchWindow], loss: float) -> None:
        self._writer.writerows(astuple(w) for w in windows)
        _durable(self._batches)
        items = sum(w.items for w in windows)
        start_ns, end_ns = windows[0].start_ns, windows[-1].end_ns
        # JSON has no NaN: a loss that is not finite is told as text and becomes null in the bundle
        told = loss if abs(loss) < float("inf") else str(loss)
        self.event("epoch", epoch=epoch, items=items, start_ns=start_ns, end_ns=end_ns, loss=told)


def _durable(file: IO[str]) -> None:
    file.flush()
    os.fsync(file.fileno())


def main() -> int:
    """Run this rank; returns the exit status."""
    directory = Path(sys.argv[1])
    plan = Plan.load(directory)
    rank, local, world = (int(os.environ[name]) for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE"))
    diary = Diary(directory, rank)
    diary.event("started", pid=os.getpid(), source_sha256=source_hash())
    try:
        run(plan, rank, local, world, diary)
    except torch.OutOfMemoryError as error:
        diary.event("out-of-memory", message=str(error).split("\n", maxsplit=1)[0])
        return FAILED
    return 0


def run(plan: Plan, rank: int, local: int, world: int, diary: Diary) -> None:
    """Build the workload and take its epochs. Whatever the implementation raises goes through."""
    device = f"cuda:{local}" if plan.device == "cuda" else "cpu"
    if plan.device == "cuda":
        torch.cuda.set_device(local)
    if world > 1:
        torch.distributed.init_process_group("nccl" if plan.device == "cuda" else "gloo")
    started = time.monotonic()
    built = build(plan, device, rank, world)
    diary.event(
        "built",
        accelerator=accelerator_of(plan, local),
        precision=built.precision,
        parameters=built.parameters,
        input_shape=list(built.input_shape),
        settings=dict(built.settings),
        seconds=time.monotonic() - started,
    )
    clock: Clock = CudaClock() if plan.device == "cuda" else HostClock()
    recorder = EpochRecorder(
        clock, plan.epochs, plan.epoch_s, rank, agreement(device, world), diary.epoch,
        lambda batches, batch_s: diary.event(
            "calibrated", batches_per_epoch=batches, batch_s=batch_s, peak_memory_bytes=peak_memory(plan.device)
        ),
    )  # fmt: skip
    built.run(recorder)
    diary.event("finished")
    if world > 1:
        torch.distributed.destroy_process_group()


def build(plan: Plan, device: str, rank: int, world: int) -> Built:
    """What the plan's implementation makes of the job."""
    module, _, function = plan.implementation.partition(":")
    job = Job(plan.workload, plan.variant, plan.size, plan.batch_size, plan.seed, device, rank, world)
    built: Built = getattr(importlib.import_module(module), function)(job)
    return built


def accelerator_of(plan: Plan, local: int) -> str:
    """The UUID of this rank's accelerator: the GPU's own, or, on a CPU, the meter's device of the same number."""
    if plan.device == "cpu":
        return plan.devices[local].uuid
    uuid = str(torch.cuda.get_device_properties(local).uuid)
    return uuid if uuid.startswith("GPU-") else f"GPU-{uuid}"


def agreement(device: str, world: int) -> Callable[[float], float]:
    """A function that returns the largest of the values which all ranks give it."""
    if world == 1:
        return lambda value: value

    def agree(value: float) -> float:
        largest = torch.tensor(value, dtype=torch.float64, device=device)
        torch.distributed.all_reduce(largest, torch.distributed.ReduceOp.MAX)
        return float(largest)

    return agree


def peak_memory(device: str) -> int | None:
    """The most device memory that this process ever held, in bytes; None on a CPU."""
    return int(torch.cuda.max_memory_reserved()) if device == "cuda" else None


if __name__ == "__main__":
    sys.exit(main())
