"""One process of a run: `python -m harness.run.workers.worker DIRECTORY`. Torchrun starts several
of them.

It builds the workload that `plan.json` names and runs its epochs with a recorder or, for a server,
with the load generator. After each epoch it writes the batch windows to `batches.RANK.csv` and the
requests of a server to `requests.RANK.csv`. It writes events to `events.RANK.jsonl` (see
`harness.run.workers.worker_events`). The harness reads these files.
"""

import gc
import importlib
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, astuple
from pathlib import Path

from checker.terminal import UNWRITABLE, describe_unwritable
from harness.checks import advise_on_package
from harness.processes import LAUNCHER_VARIABLE, die_with_parent
from harness.run.plan import Plan
from rules.input_hash import hash_file

if __name__ == "__main__":
    # Before torch is imported, which takes seconds: a harness killed meanwhile must not leave a
    # worker.
    die_with_parent(int(os.environ[LAUNCHER_VARIABLE]))


from harness.power.sources import source_class
from harness.run.workers.event_log import EventLog
from harness.run.workers.gpu_uuid import read_gpu_uuid
from harness.run.workers.load_generator import Answer, LoadGenerator
from harness.run.workers.recorder import Clock, CudaClock, EpochRecorder, HostClock
from harness.run.workers.worker_events import (
    EpochCalibrated,
    FilesUnwritable,
    JobRefused,
    MemoryExhausted,
    TokensTallied,
    WorkerFailed,
    WorkerFinished,
    WorkerStarted,
    WorkloadBuilt,
)
from harness.simulation.board_state import Activity
from harness.simulation.worker_boards import WorkerBoards
from harness.system import hash_source
from rules.bundle_format.records import BatchWindow, ServedRequest
from rules.contract import BoardFault, Built, Job
from rules.metrics.idle import BUILD, RESIDENT
from rules.workloads import workloads

FAILED = 1
OnPhase = Callable[[str, int, int], None]


def main() -> int:
    """Run this rank. Returns the exit status."""
    directory = Path(sys.argv[1])
    plan = Plan.load(directory)
    names = ("RANK", "LOCAL_RANK", "WORLD_SIZE")
    rank, local_rank, world_size = (int(os.environ[name]) for name in names)
    event_log = EventLog(directory, rank)
    # The harness compares this hash with the plan, so that a second copy of wattmark on the import
    # path does not run unnoticed.
    event_log.write_event(WorkerStarted(rank=rank, pid=os.getpid(), source_sha256=hash_source()))
    try:
        run(plan, rank, local_rank, world_size, event_log)
    except ModuleNotFoundError as error:
        advice = advise_on_package(workloads()[plan.configuration.workload].stack)
        event_log.write_event(JobRefused(rank=rank, message=f"{error}: {advice}"))
        raise
    # By the contract, an implementation raises ValueError if it refuses the job. A repetition of
    # the run would not help.
    except ValueError as error:
        event_log.write_event(JobRefused(rank=rank, message=_get_first_line(error)))
        raise
    except Exception as error:
        # An event and no traceback: for a trial of `--batch auto` this is an expected result.
        if _is_out_of_memory(error):
            event_log.write_event(MemoryExhausted(rank=rank, message=_get_first_line(error)))
            return FAILED
        if isinstance(error, OSError) and error.errno in UNWRITABLE:
            message = describe_unwritable(error, directory)
            # On a full disk this may fail too. The harness then sees the status of the worker.
            with suppress(OSError):
                event_log.write_event(FilesUnwritable(rank=rank, message=message))
            raise
        if isinstance(error, BoardFault):
            event_log.write_event(WorkerFailed(rank=rank, message=_get_first_line(error)))
            raise
        # If one of several ranks fails, most others fail because of it. Their errors would mislead.
        if world_size == 1:
            message = f"{type(error).__name__}: {_get_first_line(error)}"
            event_log.write_event(WorkerFailed(rank=rank, message=message))
        raise
    return 0


def _is_out_of_memory(error: Exception) -> bool:
    torch = sys.modules.get("torch")
    # A process that never imported torch cannot have raised the error of torch. The import would
    # take seconds.
    return torch is not None and isinstance(error, torch.OutOfMemoryError)


def _get_first_line(error: Exception) -> str:
    # torch adds a multi-line C++ trace to many messages. The log has the whole text.
    return str(error).split("\n", maxsplit=1)[0]


def run(plan: Plan, rank: int, local_rank: int, world_size: int, event_log: EventLog) -> None:
    """Build the workload and run its epochs. Raises whatever the implementation raises."""
    uses_gpu = plan.machine.torch_device == "cuda"
    is_server = plan.configuration.requests is not None
    # A server starts its own processes on the GPUs. This process must not occupy one.
    selects_gpu = uses_gpu and not is_server
    # Import torch only if it is needed, because that takes seconds.
    if selects_gpu or world_size > 1:
        import torch
    if selects_gpu:
        torch.cuda.set_device(local_rank)
    if world_size > 1:
        torch.distributed.init_process_group("nccl" if uses_gpu else "gloo")
    device = f"cuda:{local_rank}" if uses_gpu else "cpu"
    started_ns = time.monotonic_ns()
    # A server uses all accelerators of the plan, any other process exactly one.
    all_uuids = [accelerator.uuid for accelerator in plan.devices]
    uuids = all_uuids if is_server else [find_accelerator(plan, local_rank)]
    built = build(plan, device, rank, world_size, uuids)
    ended_ns = time.monotonic_ns()
    event_log.write_event(
        WorkloadBuilt(
            rank=rank,
            accelerators=tuple(uuids),
            precision=built.precision,
            parameters=built.parameters,
            input_shape=tuple(built.input_shape),
            settings=dict(built.settings),
            corpus_sha256=built.corpus_sha256,
            weights_sha256=built.weights_sha256,
            inputs_sha256=built.inputs_sha256,
            implementation_sha256=hash_implementation(plan),
            seconds=(ended_ns - started_ns) / 1e9,
        )
    )
    event_log.write_phase(BUILD, started_ns, ended_ns)
    boards = WorkerBoards(uuids if source_class(plan.meter).simulated else ())
    boards.set_activity(Activity.RESIDENT)

    def end_phase(phase: str, start_ns: int, end_ns: int) -> None:
        event_log.write_phase(phase, start_ns, end_ns)
        if phase == RESIDENT:
            boards.set_activity(Activity.COMPUTING)
        elif phase == "warm-up" and not is_server:
            # Python's search of all objects for garbage stops a rank, and every rank that waits for
            # it, for tenths of a second. What lives after the warm-up lives until the end. A
            # server has requests in flight here, which must not wait.
            gc.collect()
            gc.freeze()

    if is_server:
        serve(plan, built, rank, event_log, end_phase)
    else:
        compute_maximum = make_maximum_over_ranks(device, world_size)
        train(plan, built, rank, compute_maximum, event_log, end_phase)
    event_log.write_event(WorkerFinished(rank=rank))
    if world_size > 1:
        torch.distributed.destroy_process_group()


def train(
    plan: Plan,
    built: Built,
    rank: int,
    compute_maximum: Callable[[float], float],
    event_log: EventLog,
    on_phase: OnPhase,
) -> None:
    """Run the epochs in the training loop of the implementation. `compute_maximum` returns the
    largest of the values that all ranks pass to it. `on_phase` is given the name, start and end of
    each phase before the first epoch."""

    def record_calibration(batches: int, batch_s: float) -> None:
        # The CPU has no comparable figure.
        peak_memory_bytes = None
        if plan.machine.torch_device == "cuda":
            import torch

            # Reserved and not allocated memory: what the caching allocator holds must fit on the
            # board too.
            peak_memory_bytes = int(torch.cuda.max_memory_reserved())
        event_log.write_event(
            EpochCalibrated(
                rank=rank,
                batches_per_epoch=batches,
                batch_s=batch_s,
                peak_memory_bytes=peak_memory_bytes,
            )
        )

    def record_epoch(epoch: int, windows: Sequence[BatchWindow], losses: Sequence[float]) -> None:
        event_log.write_epoch(epoch, windows, losses, recorder.trainings)

    clock: Clock = CudaClock() if plan.machine.torch_device == "cuda" else HostClock()
    recorder = EpochRecorder(
        clock,
        plan.epochs,
        plan.configuration.epoch_s,
        rank,
        compute_maximum,
        record_epoch,
        record_calibration,
        plan.idle_s,
        on_phase,
    )
    built.run(recorder)


def serve(plan: Plan, built: Built, rank: int, event_log: EventLog, on_phase: OnPhase) -> None:
    """Run the epochs with the load generator. A request counts as a batch, and its window does not
    begin before its epoch."""
    epoch_start_ns = 0

    def record_calibration(requests: int, request_s: float) -> None:
        nonlocal epoch_start_ns
        epoch_start_ns = time.monotonic_ns()
        event_log.write_event(
            EpochCalibrated(
                rank=rank, batches_per_epoch=requests, batch_s=request_s, peak_memory_bytes=None
            )
        )

    def record_epoch(epoch: int, answers: list[Answer]) -> None:
        nonlocal epoch_start_ns
        event_log.write_requests(
            [ServedRequest(epoch, a.request, rank, *astuple(a)[2:]) for a in answers]
        )
        windows = [
            # The time of a request before its epoch belongs to the epoch before. A whole request
            # would count it twice.
            BatchWindow(
                epoch, number, rank, max(a.sent_ns, epoch_start_ns), a.end_ns, a.output_tokens
            )
            for number, a in enumerate(answers)
        ]
        # The next epoch begins where this one ends. Epochs of a server follow each other without a
        # pause.
        epoch_start_ns = windows[-1].end_ns
        event_log.write_epoch(epoch, windows, [])

    assert plan.configuration.requests is not None and built.vocabulary is not None
    # Ranks with the same seed would send the same prompts.
    seed = plan.configuration.seed + rank
    load = LoadGenerator(
        plan.configuration.requests,
        built.vocabulary,
        seed,
        plan.epochs,
        plan.configuration.epoch_s,
        record_epoch,
        record_calibration,
        plan.idle_s,
        on_phase,
    )
    built.run(load)
    if load.tally is None:
        raise RuntimeError(
            f"{plan.configuration.implementation} did not await the `drive` of its load"
        )
    event_log.write_event(TokensTallied(rank=rank, **asdict(load.tally)))


def build(plan: Plan, device: str, rank: int, world_size: int, uuids: Sequence[str]) -> Built:
    """Call the implementation that the plan names. Raises ValueError if its module has no such
    function."""
    configuration = plan.configuration
    module, _, function = configuration.implementation.partition(":")
    job = Job(
        configuration.workload,
        configuration.variant,
        configuration.size,
        configuration.batch_size,
        configuration.seed,
        device,
        rank,
        world_size,
        accelerators=len(uuids),
        uuids=tuple(uuids),
        requests=configuration.requests,
        corpus=configuration.corpus,
        weights=configuration.weights,
        options=configuration.options,
    )
    if not callable(build_function := getattr(importlib.import_module(module), function, None)):
        raise ValueError(
            f"{configuration.implementation}: the module {module} has no function {function}"
        )
    built: Built = build_function(job)
    return built


def hash_implementation(plan: Plan) -> str | None:
    """Return the SHA-256 of the file that this process loaded for a submitter's own implementation.
    None for a reference implementation."""
    if plan.configuration.implementation_sha256 is None:
        return None
    return hash_file(
        Path(str(sys.modules[plan.configuration.implementation.partition(":")[0]].__file__))
    )


def find_accelerator(plan: Plan, local_rank: int) -> str:
    """Return the UUID of this rank's accelerator. On a CPU the local rank is the index of the
    device in the plan."""
    if plan.machine.torch_device == "cpu":
        return plan.devices[local_rank].uuid
    import torch

    # By UUID and not by number: the order of CUDA or HIP can differ from that of the meter.
    if (uuid := read_gpu_uuid(local_rank)) is not None:
        return uuid
    properties = torch.cuda.get_device_properties(local_rank)
    bus = f"{properties.pci_bus_id:02x}:{properties.pci_device_id:02x}.0"
    # GPUs of virtual machines have no UUID in ROCm. The PCI address matches the device of the plan.
    address = f"{properties.pci_domain_id:04x}:{bus}"
    return next((d.uuid for d in plan.devices if d.pci == address), f"PCI-{address}")


def make_maximum_over_ranks(device: str, world_size: int) -> Callable[[float], float]:
    """Return a function that returns the largest of the values that all ranks pass to it. It waits
    for all ranks."""
    if world_size == 1:
        return lambda value: value
    import torch

    def compute_maximum(value: float) -> float:
        # float64, because the values can be numbers of batches, which float32 may round.
        largest = torch.tensor(value, dtype=torch.float64, device=device)
        torch.distributed.all_reduce(largest, torch.distributed.ReduceOp.MAX)
        return float(largest)

    return compute_maximum


if __name__ == "__main__":
    sys.exit(main())
