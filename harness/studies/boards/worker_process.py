"""The harness's handle of a worker, the process that runs the models on one board
(`harness.studies.worker`)."""

import contextlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass

from harness.json_child import ChildEnded, ChildSilent, JsonChild
from harness.power.sources import source_class
from harness.processes import HURRIED_TIMEOUT_S
from harness.studies.records import PartWindow
from rules.bundle_format.records import Json
from rules.study_contract import BatchRefused, ModelFacts, ModelJob, ModelRefused

MODULE = "harness.studies.worker"
READY_TIMEOUT_S = 300.0
STOP_TIMEOUT_S = 30.0
BUILD_TIMEOUT_S = 300.0
"""The longest time to build a model or, above the time of the windows, to measure a batch size."""
COMPILE_TIMEOUT_S = 1800.0
"""The same for engines that compile."""
COMPILING_ENGINES = ("compile", "tensorrt")
SLACK = 10.0
"""How many times its expected time a window may take."""


class WorkerDied(Exception):
    """The worker ended, failed or does not answer. The message says which."""


@dataclass(frozen=True)
class Window:
    """A measured window of a batch size."""

    parts: tuple[PartWindow, ...]
    peak_bytes: int

    @property
    def start_ns(self) -> int:
        return self.parts[0].start_ns

    @property
    def end_ns(self) -> int:
        return self.parts[-1].end_ns


class StudyWorker:
    """A worker, from its start to its end. The context manager ends it.

    The thread that starts it must live as long as the worker, because Linux then kills it.
    `kill` may be called from any thread.
    """

    def __init__(
        self, settings: Json, environment: Mapping[str, str], on_line: Callable[[str], None]
    ) -> None:
        self._arguments = ["-m", MODULE, json.dumps(settings)]
        self._environment, self._on_line = environment, on_line
        self._child: JsonChild | None = None
        self._build_timeout_s = BUILD_TIMEOUT_S
        self.versions: Mapping[str, str | None] = {}
        """Versions of the libraries that run the models."""

    def __enter__(self) -> "StudyWorker":
        self._child = JsonChild(self._arguments, self._environment, self._on_line)
        try:
            self.versions = self._receive(READY_TIMEOUT_S, "ready")["versions"]
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        assert self._child is not None
        with contextlib.suppress(ChildEnded):
            self._child.send({"command": "stop"})
        self._child.close(STOP_TIMEOUT_S)
        self._child.join(HURRIED_TIMEOUT_S)

    def kill(self) -> None:
        """End the process at once. Whoever waits for its answer gets WorkerDied."""
        if self._child is not None:
            self._child.kill()

    @property
    def pid(self) -> int:
        """The process id."""
        assert self._child is not None
        return self._child.process.pid

    def open(self, job: ModelJob) -> ModelFacts:
        """Build a model and return its sizes. Raises ModelRefused or WorkerDied."""
        is_compiled = job.engine in COMPILING_ENGINES
        self._build_timeout_s = COMPILE_TIMEOUT_S if is_compiled else BUILD_TIMEOUT_S
        answer = self._ask(
            {"command": "open", "job": asdict(job)}, self._build_timeout_s, "opened", "refused"
        )
        if answer["kind"] == "refused":
            raise ModelRefused(answer["reason"])
        return ModelFacts(answer["flops"], answer["params"], answer["activations"])

    def measure(
        self, batch: int, seconds: float, min_batches: int, parts: int, expected_batch_s: float
    ) -> Window:
        """Measure a window of the open model in `parts` parts, of at least so many seconds and
        batches. `expected_batch_s` is about the time of a batch.

        Raises BatchRefused if the model does not run at this batch size, and WorkerDied.
        """
        # Warm-up and the estimate of the time of a batch take some batches more, and a window that
        # came out too short is repeated.
        expected_s = 2 * seconds + (2 * min_batches + 8) * expected_batch_s
        answer = self._ask(
            {
                "command": "measure",
                "batch": batch,
                "seconds": seconds,
                "min_batches": min_batches,
                "parts": parts,
            },
            self._build_timeout_s + SLACK * expected_s,
            "measured",
            "ended",
        )
        if answer["kind"] == "ended":
            raise BatchRefused(answer["outcome"], answer["reason"])
        windows = tuple(PartWindow(**part) for part in answer["parts"])
        return Window(windows, answer["peak_bytes"])

    def close_model(self) -> None:
        """Free the memory of the open model. Raises WorkerDied."""
        self._ask({"command": "idle"}, BUILD_TIMEOUT_S, "idle")

    def _ask(self, command: Json, timeout_s: float, *expected: str) -> Json:
        assert self._child is not None
        # The reason why a worker has ended is among its answers.
        with contextlib.suppress(ChildEnded):
            self._child.send(command)
        return self._receive(timeout_s, *expected)

    def _receive(self, timeout_s: float, *expected: str) -> Json:
        assert self._child is not None
        try:
            answer: Json = self._child.receive(timeout_s)
        except ChildSilent:
            self.kill()
            raise WorkerDied(f"the worker did not answer within {timeout_s:.0f} s") from None
        except ChildEnded as end:
            self.kill()
            raise WorkerDied(
                f"the worker ended with status {end.status}; the log has its output"
            ) from None
        if answer["kind"] in expected:
            return answer
        self.kill()
        reason = str(answer.get("reason", f"it answered {answer['kind']}"))
        raise WorkerDied(f"the worker failed: {reason}")


def make_worker_settings(implementation: str, uuid: str, device: str, meter: str) -> Json:
    """Return the argument of the worker process."""
    return {
        "implementation": implementation,
        "uuid": uuid,
        "device": device,
        "harness_pid": os.getpid(),
        "is_simulated": source_class(meter).simulated,
    }
