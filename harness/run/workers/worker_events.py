"""The events of a worker: the worker appends them to `events.RANK.jsonl`, one JSON object a line,
and the harness reads them while the file grows."""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from rules.bundle_format.records import Json
from rules.contract import Training
from rules.json_record import from_json, to_json


@dataclass(frozen=True, kw_only=True)
class WorkerEvent:
    """An event of one rank."""

    KIND_KEY: ClassVar[str] = "event"
    kind: ClassVar[str]
    """The value of `event` in the file."""
    rank: int


@dataclass(frozen=True, kw_only=True)
class WorkerStarted(WorkerEvent):
    """The worker process runs and has imported the harness."""

    kind = "started"
    pid: int
    source_sha256: str
    """Hash of the code that this process runs (see `harness.system.hash_source`)."""


@dataclass(frozen=True, kw_only=True)
class WorkloadBuilt(WorkerEvent):
    """The implementation built the model; most fields are those of `rules.contract.Built`."""

    kind = "built"
    accelerators: tuple[str, ...]
    """UUIDs of the accelerators that the rank computes on."""
    precision: str
    parameters: int
    input_shape: tuple[int, ...]
    settings: Mapping[str, str | int | float | bool | None]
    corpus_sha256: str | None
    weights_sha256: str | None
    inputs_sha256: str | None
    implementation_sha256: str | None
    """Hash of the loaded file of a submitter's own implementation."""
    seconds: float
    """Duration of the build."""


@dataclass(frozen=True, kw_only=True)
class RankEndedPhase(WorkerEvent):
    """The rank ended a phase before the first epoch (`phase` of
    `rules.bundle_format.events.PhaseEnded`)."""

    kind = "phase"
    phase: str
    start_ns: int
    """Start and, in `end_ns`, end of the phase on the monotonic clock of the node."""
    end_ns: int


@dataclass(frozen=True, kw_only=True)
class EpochCalibrated(WorkerEvent):
    """The rank knows how many batches an epoch has. For a server a batch is a request."""

    kind = "calibrated"
    batches_per_epoch: int
    batch_s: float
    """Mean duration of a batch."""
    peak_memory_bytes: int | None
    """Memory that torch's allocator reserved on the GPU. None on a CPU and for a server."""


@dataclass(frozen=True, kw_only=True)
class RankEndedEpoch(WorkerEvent):
    """The rank ended an epoch, and the windows of its batches are on disk."""

    kind = "epoch"
    epoch: int
    items: int
    start_ns: int
    """Earliest start and, in `end_ns`, latest end of a batch, on the monotonic clock of the
    node."""
    end_ns: int
    active_s: float
    """Time in which a batch was active: the union of the windows."""
    losses: tuple[float, ...]
    """Loss of each step, which may be NaN or infinite. Empty for a server."""
    trainings: tuple[Training, ...] = ()
    """The whole trainings of a workload with a target, one per batch."""


@dataclass(frozen=True, kw_only=True)
class TokensTallied(WorkerEvent):
    """The load generator counted the requests and output tokens of the whole run."""

    kind = "tally"
    requests: int
    client_output_tokens: int
    server_output_tokens: int


@dataclass(frozen=True, kw_only=True)
class MemoryExhausted(WorkerEvent):
    """The accelerator has too little memory for the batch."""

    kind = "out-of-memory"
    message: str


@dataclass(frozen=True, kw_only=True)
class JobRefused(WorkerEvent):
    """The implementation refused the job as it is. Running it again would not help."""

    kind = "refused"
    message: str


@dataclass(frozen=True, kw_only=True)
class WorkerFailed(WorkerEvent):
    """The implementation raised an error."""

    kind = "failed"
    message: str


@dataclass(frozen=True, kw_only=True)
class FilesUnwritable(WorkerEvent):
    """The rank cannot write its files, on a full disk for example."""

    kind = "unwritable"
    message: str


@dataclass(frozen=True, kw_only=True)
class WorkerFinished(WorkerEvent):
    """The rank ended its last epoch."""

    kind = "finished"


def worker_event_to_json(event: WorkerEvent) -> Json:
    """Return the event as the JSON object of a line of `events.RANK.jsonl`."""
    value: Json = to_json(event)
    if isinstance(event, RankEndedEpoch):
        # JSON has no NaN and no infinity, so such a loss is text in the file.
        value["losses"] = [loss if math.isfinite(loss) else str(loss) for loss in event.losses]
    return value


def worker_event_from_json(value: Json) -> WorkerEvent:
    """Return the event of a JSON object that `worker_event_to_json` made. Raises RecordError."""
    if "losses" in value:
        value = {**value, "losses": [float(loss) for loss in value["losses"]]}
    return from_json(WorkerEvent, value, is_validated=True)


class WorkerEventReader:
    """Reads the event files of this node's ranks as they grow."""

    def __init__(self, directory: Path, ranks: range) -> None:
        self._paths = {rank: directory / f"events.{rank}.jsonl" for rank in ranks}
        self._offsets = dict.fromkeys(ranks, 0)

    def read_new(self) -> Iterator[WorkerEvent]:
        """Yield the events that were written since the last call, those of the lowest rank
        first."""
        for rank, path in self._paths.items():
            if not path.exists():
                continue
            with path.open() as file:
                file.seek(self._offsets[rank])
                # A line without its end is still being written. The offset stays before it.
                while (line := file.readline()).endswith("\n"):
                    self._offsets[rank] = file.tell()
                    yield worker_event_from_json(json.loads(line))
