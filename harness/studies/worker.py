"""The process that runs the models of a study on one accelerator:
`python -m harness.studies.worker SETTINGS`.

It reads commands and writes answers, one JSON object per line, on its standard input and output:

    open, with the job        -> opened, with the facts of the model, or refused
    measure, with the window  -> measured, with the parts of the window, or ended
    idle                      -> idle: the model is closed
    stop                      -> the process ends

It writes `ready` once the implementation is imported. After any error that the contract
(`rules.study_contract`) does not name, it writes `failed` and ends, because the accelerator may be
unusable in this process. The output of libraries goes to standard error.
"""

import importlib
import json
import math
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from harness.processes import die_with_parent

if __name__ == "__main__":
    # Before torch is imported, which takes seconds: a harness killed meanwhile must not leave a
    # worker.
    die_with_parent(json.loads(sys.argv[1])["harness_pid"])
    # The terminal sends Ctrl-C to all processes. The harness decides when the worker ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # PyTorch warns about it with a path of this machine, which the log of a bundle must not have.
    warnings.filterwarnings("ignore", message="Synchronization debug mode")

from harness.run.workers.gpu_uuid import read_gpu_uuid
from harness.run.workers.recorder import Clock, CudaClock, HostClock
from harness.simulation.board_state import Activity
from harness.simulation.worker_boards import WorkerBoards
from harness.system import read_package_versions
from rules.study_contract import BatchRefused, ModelJob, ModelRefused, OpenModel

Answer = dict[str, Any]

FAILED = 1
WARMUP_SHARE, LONGEST_WARMUP_S = 0.3, 0.5
"""The warm-up, which also gives the time of a batch, lasts this share of the window, and not more
than this time. On H200, the power of a batch size was steady 0.2 s after its first batch."""
SHORTEST_BATCH_S = 1e-6
"""About the resolution of the events of a GPU."""
MARGIN = 1.03
"""A window is planned this much longer than requested, because the time of a batch varies."""


@dataclass(frozen=True)
class Settings:
    """What the harness tells the worker at its start."""

    implementation: str
    """`module:function`"""
    uuid: str
    device: str
    """A torch device string such as `cuda:0` or `cpu`."""
    harness_pid: int
    is_simulated: bool
    """Whether a simulator plays the board, and must know what the worker does."""


@dataclass(frozen=True)
class Window:
    """The window to measure."""

    batch: int
    """Images per batch."""
    seconds: float
    min_batches: int
    parts: int


@dataclass(frozen=True)
class Part:
    """A part of a measured window."""

    batches: int
    start_ns: int
    end_ns: int


def measure(model: OpenModel, clock: Clock, window: Window) -> list[Part]:
    """Measure parts of equal numbers of batches that together last at least `window.seconds` and
    hold at least `window.min_batches`. Raises BatchRefused."""
    model.prepare(window.batch)
    batch_s = warm_up(model, clock, min(WARMUP_SHARE * window.seconds, LONGEST_WARMUP_S))
    required = max(window.min_batches, MARGIN * window.seconds / batch_s)
    while True:
        batches = math.ceil(required / window.parts)
        parts = run_parts(model, clock, batches, window.parts)
        if (elapsed_s := compute_seconds(parts)) >= window.seconds:
            return parts
        # One more per part, in case the time of a batch was far too long in the warm-up.
        required = window.parts + MARGIN * window.seconds * batches * window.parts / elapsed_s


def warm_up(model: OpenModel, clock: Clock, seconds: float) -> float:
    """Run batches for at least this time. Return the time of a batch in s. Raises BatchRefused."""
    batches, left_s = 1, seconds
    while True:
        elapsed_s = compute_seconds(run_parts(model, clock, batches, parts=1))
        left_s -= elapsed_s
        batch_s = max(elapsed_s / batches, SHORTEST_BATCH_S)
        if left_s <= 0:
            return batch_s
        # The first batch may be slow, so the next step measures the time of a batch again.
        batches = math.ceil(left_s / batch_s)


def run_parts(model: OpenModel, clock: Clock, batches: int, parts: int) -> list[Part]:
    """Run `parts` times `batches` batches. Raises BatchRefused."""
    clock.open()
    model.run(batches, parts, clock.mark)
    marks = clock.close()
    if len(marks) != parts + 1:
        raise RuntimeError(
            f"the implementation called mark {len(marks)} times in {parts} parts; it must call it "
            "before the first part and after each part"
        )
    return [Part(batches, *marks[number : number + 2]) for number in range(parts)]


def compute_seconds(parts: list[Part]) -> float:
    """Return the time from the start of the first part to the end of the last one."""
    return (parts[-1].end_ns - parts[0].start_ns) / 1e9


class Worker:
    """Answers the commands of the harness. At most one model is open."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        module, _, function = settings.implementation.partition(":")
        self._open_model = getattr(importlib.import_module(module), function)
        device, _, index = settings.device.partition(":")
        if device == "cuda":
            check_gpu(int(index), settings.uuid)
        self._clock: Clock = CudaClock() if device == "cuda" else HostClock()
        self._boards = WorkerBoards((settings.uuid,) if settings.is_simulated else ())
        self._model: OpenModel | None = None

    def answer(self, command: Mapping[str, Any]) -> Answer:
        """Execute a command other than `stop`. Raises the errors that end the process."""
        match command["command"]:
            case "open":
                return self._open(ModelJob(**command["job"]))
            case "measure":
                names = ("batch", "seconds", "min_batches", "parts")
                return self._measure(Window(*(command[name] for name in names)))
            case "idle":
                self._close()
                return {"kind": "idle"}
            case name:
                raise ValueError(f"there is no command {name!r}")

    def _open(self, job: ModelJob) -> Answer:
        self._close()
        try:
            self._model = self._open_model(job)
        except ModelRefused as refusal:
            return {"kind": "refused", "reason": str(refusal)}
        self._boards.set_activity(Activity.RESIDENT)
        return {"kind": "opened", **asdict(self._model.facts)}

    def _measure(self, window: Window) -> Answer:
        if self._model is None:
            raise ValueError("there is no open model to measure")
        self._boards.set_activity(Activity.COMPUTING)
        try:
            parts = measure(self._model, self._clock, window)
        except BatchRefused as refusal:
            return {"kind": "ended", "outcome": refusal.outcome, "reason": str(refusal)}
        finally:
            self._boards.set_activity(Activity.RESIDENT)
        return {
            "kind": "measured",
            "parts": [asdict(part) for part in parts],
            "peak_bytes": self._model.peak_bytes(),
        }

    def _close(self) -> None:
        if self._model is not None:
            self._model.close()
            self._boards.set_activity(Activity.IDLE)
        self._model = None


def check_gpu(index: int, uuid: str) -> None:
    """Raise ValueError if the meter reads another GPU than the one that computes."""
    actual_uuid = read_gpu_uuid(index)
    if actual_uuid not in (uuid, None):
        raise ValueError(
            f"cuda:{index} is {actual_uuid}, and the meter reads {uuid}; unset CUDA_VISIBLE_DEVICES"
        )


def main() -> int:
    """Run the worker. Returns its exit status."""
    commands, answers = take_channel()

    def send(answer: Answer) -> None:
        print(json.dumps(answer), file=answers, flush=True)

    try:
        worker = Worker(Settings(**json.loads(sys.argv[1])))
        send({"kind": "ready", "versions": describe_versions()})
        # The input ends if the harness ends.
        for line in commands:
            command = json.loads(line)
            if command["command"] == "stop":
                break
            send(worker.answer(command))
    except Exception as error:
        traceback.print_exc()
        first_line = str(error).strip().split("\n", maxsplit=1)[0]
        send({"kind": "failed", "reason": f"{type(error).__name__}: {first_line}"})
        return FAILED
    return 0


def take_channel() -> tuple[IO[str], IO[str]]:
    """Return standard input and output, for commands and answers. Everything else in this process
    that uses them reads nothing and writes to standard error."""
    commands, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    with Path(os.devnull).open() as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    return commands, answers


def describe_versions() -> dict[str, str]:
    """Return the versions of the packages, of CUDA or ROCm, and of cuDNN."""
    versions = read_package_versions()
    # Only if the implementation has imported it, because that takes seconds.
    if (torch := sys.modules.get("torch")) is not None:
        libraries = {
            "cuda": torch.version.cuda,
            "rocm": torch.version.hip,
            "cudnn": torch.backends.cudnn.version(),
        }
        versions |= {name: str(version) for name, version in libraries.items() if version}
    return versions


if __name__ == "__main__":
    sys.exit(main())
