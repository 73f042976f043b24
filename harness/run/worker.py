"""One process of a run: `python -m harness.run.worker DIRECTORY`. Torchrun starts several of them.

It builds the workload that `plan.json` names, hands it a recorder, and writes down what happens:
batch windows to `batches.RANK.csv` after each epoch (requests that were served to
`requests.RANK.csv` too) and events, one JSON object a line, to `events.RANK.jsonl`. The harness
reads them.
"""

import csv
import importlib
import json
import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import IO, Any

from harness.processes import LAUNCHER_VARIABLE, die_with_parent
from harness.run.plan import SIMULATED_WORK, Plan, file_hash

if __name__ == "__main__":
    # Before torch is imported, which takes seconds: a harness killed meanwhile must not leave a
    # worker.
    die_with_parent(int(os.environ[LAUNCHER_VARIABLE]))

from harness.power.rocm_devices import uuid_of_torch
from harness.run.load_generator import Answer, LoadGenerator
from harness.run.recorder import Clock, CudaClock, EpochRecorder, HostClock
from harness.system import EXTRAS, source_hash
from rules.bundle_format.records import BATCH_COLUMNS, REQUEST_COLUMNS, BatchWindow, ServedRequest
from rules.contract import Built, Job
from rules.workloads import workloads

FAILED = 1


class EventLog:
    """The files that a worker writes. Every entry is on disk before the next batch runs."""

    def __init__(self, directory: Path, rank: int) -> None:
        self._directory, self._rank = directory, rank
        self._events = (directory / f"events.{rank}.jsonl").open("w")
        self._batches = self._table("batches", BATCH_COLUMNS)
        self._requests: IO[str] | None = None

    def event(self, name: str, **facts: Any) -> None:
        self._events.write(json.dumps({"event": name, "rank": self._rank, **facts}) + "\n")
        _flush_to_disk(self._events)

    def epoch(self, epoch: int, windows: list[BatchWindow], losses: list[float]) -> None:
        _write_rows(self._batches, windows)
        items = sum(w.items for w in windows)
        # Windows of requests overlap, so the first to end is not always the first to start.
        start_ns, end_ns = min(w.start_ns for w in windows), max(w.end_ns for w in windows)
        # JSON has no NaN. A loss that is not finite is text here and becomes null in the bundle.
        json_losses = [loss if math.isfinite(loss) else str(loss) for loss in losses]
        self.event(
            "epoch", epoch=epoch, items=items, start_ns=start_ns, end_ns=end_ns, losses=json_losses
        )

    def served(self, requests: list[ServedRequest]) -> None:
        self._requests = self._requests or self._table("requests", REQUEST_COLUMNS)
        _write_rows(self._requests, requests)

    def _table(self, name: str, columns: tuple[str, ...]) -> IO[str]:
        file = (self._directory / f"{name}.{self._rank}.csv").open("w", newline="")
        csv.writer(file, lineterminator="\n").writerow(columns)
        return file


def _write_rows(table: IO[str], rows: Sequence[BatchWindow | ServedRequest]) -> None:
    csv.writer(table, lineterminator="\n").writerows(astuple(row) for row in rows)
    _flush_to_disk(table)


def _flush_to_disk(file: IO[str]) -> None:
    file.flush()
    # A crash of the node loses at most the epoch in progress.
    os.fsync(file.fileno())


def main() -> int:
    """Run this rank; returns the exit status."""
    directory = Path(sys.argv[1])
    plan = Plan.load(directory)
    rank, local, world = (int(os.environ[name]) for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE"))
    event_log = EventLog(directory, rank)
    # The harness compares this hash with the plan, so that a second copy of wattmark on the import
    # path does not run unnoticed.
    event_log.event("started", pid=os.getpid(), source_sha256=source_hash())
    try:
        run(plan, rank, local, world, event_log)
    except ModuleNotFoundError as error:
        extra = EXTRAS.get(workloads()[plan.workload].stack)
        event_log.event(
            "refused",
            message=f"{error}: pip install 'wattmark[{extra}]', in an environment of its own",
        )
        raise
    # The implementation refuses the job as it is. `refused` tells the harness that a repetition
    # would not help.
    except ValueError as error:
        event_log.event("refused", message=_first_line(error))
        raise
    except Exception as error:
        # An event and no traceback: to the batch finder this is a result and no mistake.
        if _is_out_of_memory(error):
            event_log.event("out-of-memory", message=_first_line(error))
            return FAILED
        # If one of several ranks fails, most others fail because of it. Their errors would mislead.
        if world == 1:
            event_log.event("failed", message=f"{type(error).__name__}: {_first_line(error)}")
        raise
    return 0


def _is_out_of_memory(error: Exception) -> bool:
    torch = sys.modules.get("torch")
    # A process that never imported torch cannot have raised the error of torch. The import would
    # take seconds.
    return torch is not None and isinstance(error, torch.OutOfMemoryError)


def _first_line(error: Exception) -> str:
    # torch adds a multi-line C++ trace to many messages. The log has the whole text.
    return str(error).split("\n", maxsplit=1)[0]


def run(plan: Plan, rank: int, local: int, world: int, event_log: EventLog) -> None:
    """Build the workload and run its epochs. Raises whatever the implementation raises."""
    on_gpu, serving = plan.torch_device == "cuda", plan.requests is not None
    # A single simulated worker needs no torch, which takes seconds to import.
    if world > 1 or plan.implementation != SIMULATED_WORK:
        import torch
    # A server starts its own processes on the GPUs. This process must not occupy one.
    if on_gpu and not serving:
        torch.cuda.set_device(local)
    if world > 1:
        torch.distributed.init_process_group("nccl" if on_gpu else "gloo")
    device = f"cuda:{local}" if on_gpu else "cpu"
    started = time.monotonic()
    uuids = [d.uuid for d in plan.devices] if serving else [accelerator_of(plan, local)]
    built = build(plan, device, rank, world, uuids)
    event_log.event(
        "built",
        accelerators=uuids,
        precision=built.precision,
        parameters=built.parameters,
        input_shape=list(built.input_shape),
        settings=dict(built.settings),
        corpus_sha256=built.corpus_sha256,
        weights_sha256=built.weights_sha256,
        implementation_sha256=implementation_hash(plan),
        seconds=time.monotonic() - started,
    )
    if serving:
        serve(plan, built, rank, event_log)
    else:
        train(plan, built, rank, agreement(device, world), event_log)
    event_log.event("finished")
    if world > 1:
        torch.distributed.destroy_process_group()


def train(
    plan: Plan, built: Built, rank: int, agree: Callable[[float], float], event_log: EventLog
) -> None:
    """Run the epochs in the training loop of the implementation."""

    def calibrated(batches: int, batch_s: float) -> None:
        # The CPU has no comparable figure.
        peak = None
        if plan.torch_device == "cuda":
            import torch

            # Reserved and not allocated memory: what the caching allocator holds must fit on the
            # board too.
            peak = int(torch.cuda.max_memory_reserved())
        event_log.event(
            "calibrated", batches_per_epoch=batches, batch_s=batch_s, peak_memory_bytes=peak
        )

    clock: Clock = CudaClock() if plan.torch_device == "cuda" else HostClock()
    built.run(
        EpochRecorder(clock, plan.epochs, plan.epoch_s, rank, agree, event_log.epoch, calibrated)
    )


def serve(plan: Plan, built: Built, rank: int, event_log: EventLog) -> None:
    """Run the epochs with the load generator. A request counts as a batch. Its window does not
    begin before its epoch."""
    begin_ns = 0

    def calibrated(requests: int, request_s: float) -> None:
        nonlocal begin_ns
        begin_ns = time.monotonic_ns()
        event_log.event(
            "calibrated", batches_per_epoch=requests, batch_s=request_s, peak_memory_bytes=None
        )

    def ended(epoch: int, answers: list[Answer]) -> None:
        nonlocal begin_ns
        event_log.served([ServedRequest(epoch, a.request, rank, *astuple(a)[2:]) for a in answers])
        windows = [
            # The time of a request before its epoch belongs to the epoch before. A whole request
            # would count it twice.
            BatchWindow(epoch, number, rank, max(a.sent_ns, begin_ns), a.end_ns, a.output_tokens)
            for number, a in enumerate(answers)
        ]
        # The next epoch begins where this one ends. Epochs of a server follow each other without a
        # pause.
        begin_ns = windows[-1].end_ns
        event_log.epoch(epoch, windows, [])

    assert plan.requests is not None and built.vocabulary is not None
    # Ranks with the same seed would send the same prompts.
    seed = plan.seed + rank
    load = LoadGenerator(
        plan.requests, built.vocabulary, seed, plan.epochs, plan.epoch_s, ended, calibrated
    )
    built.run(load)
    event_log.event("tally", **load.tally)


def build(plan: Plan, device: str, rank: int, world: int, uuids: Sequence[str]) -> Built:
    """Call the implementation that the plan names. Raises ValueError if its module has no such
    function."""
    module, _, function = plan.implementation.partition(":")
    job = Job(
        plan.workload,
        plan.variant,
        plan.size,
        plan.batch_size,
        plan.seed,
        device,
        rank,
        world,
        accelerators=len(uuids),
        uuids=tuple(uuids),
        requests=plan.requests,
        corpus=plan.corpus,
        weights=plan.weights,
        options=plan.options,
    )
    if not callable(build_function := getattr(importlib.import_module(module), function, None)):
        raise ValueError(f"{plan.implementation}: the module {module} has no function {function}")
    built: Built = build_function(job)
    return built


def implementation_hash(plan: Plan) -> str | None:
    """The hash of the file that this process loaded for a submitter's own implementation. None for
    a reference implementation."""
    if plan.implementation_sha256 is None:
        return None
    return file_hash(Path(str(sys.modules[plan.implementation.partition(":")[0]].__file__)))


def accelerator_of(plan: Plan, local: int) -> str:
    """The UUID of this rank's accelerator. On a CPU it is that of the meter's device with the local
    rank as its number."""
    if plan.torch_device == "cpu":
        return plan.devices[local].uuid
    import torch

    # By UUID and not by number: the order of CUDA or HIP can differ from that of the meter.
    properties = torch.cuda.get_device_properties(local)
    if torch.version.hip is None:
        # NVML writes the prefix `GPU-`, torch leaves it out.
        return f"GPU-{str(properties.uuid).removeprefix('GPU-')}"
    if (uuid := uuid_of_torch(str(properties.uuid))) is not None:
        return uuid
    bus = f"{properties.pci_bus_id:02x}:{properties.pci_device_id:02x}.0"
    # GPUs of virtual machines have no UUID in ROCm. The PCI address matches the device of the plan.
    address = f"{properties.pci_domain_id:04x}:{bus}"
    return next((d.uuid for d in plan.devices if d.pci == address), f"PCI-{address}")


def agreement(device: str, world: int) -> Callable[[float], float]:
    """A function that returns the maximum over all ranks of the value that it is called with."""
    if world == 1:
        return lambda value: value
    import torch

    def agree(value: float) -> float:
        # float64, because the values can be numbers of batches, which float32 may round.
        largest = torch.tensor(value, dtype=torch.float64, device=device)
        torch.distributed.all_reduce(largest, torch.distributed.ReduceOp.MAX)
        return float(largest)

    return agree


if __name__ == "__main__":
    sys.exit(main())
