"""The worker process of studies: its answers, and what ends it."""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.image_models import BATCH_S, CHATTER, PYTORCH_WARNING

from harness.run.workers.recorder import HostClock
from harness.simulation.worker_boards import WorkerBoards
from harness.studies.worker import Settings, Window, Worker, check_gpu, measure
from rules.study_contract import ModelFacts

ANSWER_S = 120
TESTS = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent)])}
SETTINGS = {
    "implementation": "support.image_models:open_model",
    "uuid": "BOARD",
    "device": "cpu",
    "harness_pid": os.getpid(),
    "is_simulated": False,
}
JOB = {
    "architecture": "sleeping",
    "size": 224,
    "engine": "eager",
    "precision": "fp32",
    "seed": 1,
    "device": "cpu",
    "uuid": "BOARD",
    "channels_last": True,
    "autograd": False,
}


class Process:
    """A worker process with the models of `support.image_models`."""

    def __init__(self, implementation: str) -> None:
        settings = {**SETTINGS, "implementation": implementation}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "harness.studies.worker", json.dumps(settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=ENVIRONMENT,
        )
        self.first_answer = self.read()

    def read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        assert select.select([self.process.stdout], [], [], ANSWER_S)[0], "no answer"
        return json.loads(self.process.stdout.readline())

    def ask(self, command: str, **fields: Any) -> dict[str, Any]:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"command": command, **fields}) + "\n")
        self.process.stdin.flush()
        return self.read()

    def measure(self, batch: int, parts: int = 1) -> dict[str, Any]:
        return self.ask("measure", batch=batch, seconds=0.05, min_batches=13, parts=parts)

    def end(self) -> tuple[int, str]:
        """Wait for the end of the process and return its status and its standard error."""
        _, errors = self.process.communicate(timeout=ANSWER_S)
        return self.process.returncode, errors


@pytest.fixture
def start() -> Iterator[Callable[..., Process]]:
    """A function that starts a worker."""
    processes = []

    def start_process(implementation: str = SETTINGS["implementation"]) -> Process:
        processes.append(Process(implementation))
        return processes[-1]

    yield start_process
    for process in processes:
        process.process.kill()
        process.process.communicate()


def test_a_worker_measures_models_and_survives_refusals_and_ctrl_c(
    start: Callable[..., Process],
) -> None:
    worker = start()
    assert worker.first_answer["kind"] == "ready"
    assert "numpy" in worker.first_answer["versions"]
    refused = worker.ask("open", job={**JOB, "size": 225})
    assert refused == {"kind": "refused", "reason": "this model takes 224 pixels, not 225"}
    opened = worker.ask("open", job=JOB)
    assert opened == {"kind": "opened", "flops": 30, "params": 20, "activations": 10}
    worker.process.send_signal(signal.SIGINT)
    ended = worker.measure(batch=9)
    assert ended == {
        "kind": "ended",
        "outcome": "out-of-memory",
        "reason": "9 images do not fit",
    }
    measured = worker.measure(batch=8, parts=5)
    assert (measured["kind"], measured["peak_bytes"]) == ("measured", 7)
    parts = measured["parts"]
    assert len(parts) == 5
    assert len({part["batches"] for part in parts}) == 1
    assert sum(part["batches"] for part in parts) >= 13
    assert parts[-1]["end_ns"] - parts[0]["start_ns"] >= 0.05e9
    assert [part["end_ns"] for part in parts[:-1]] == [part["start_ns"] for part in parts[1:]]
    # Libraries find no input, and the next answer is not one of theirs.
    worker.ask("open", job={**JOB, "architecture": "reading"})
    assert worker.measure(batch=1)["kind"] == "measured"
    assert worker.ask("idle") == {"kind": "idle"}
    assert worker.process.stdin is not None
    worker.process.stdin.write('{"command": "stop"}\n')
    status, errors = worker.end()
    assert status == 0
    assert CHATTER in errors
    assert PYTORCH_WARNING not in errors


@pytest.mark.parametrize(
    ("architecture", "reason"),
    [
        ("broken", "RuntimeError: an illegal access"),
        ("unmarked", "RuntimeError: the implementation called mark 1 times in 1 parts; it must "),
    ],
)
def test_an_error_outside_the_contract_ends_the_worker(
    start: Callable[..., Process], architecture: str, reason: str
) -> None:
    worker = start()
    worker.ask("open", job={**JOB, "architecture": architecture})
    failed = worker.measure(batch=1)
    assert failed["kind"] == "failed"
    assert failed["reason"].startswith(reason)
    status, errors = worker.end()
    assert status == 1
    assert "Traceback" in errors


@pytest.mark.filterwarnings("ignore:Synchronization")
def test_simulated_board_knows_when_its_worker_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its power is that of an idle board otherwise, which the rule Y102 refuses."""
    activities: list[str] = []
    monkeypatch.setattr(
        WorkerBoards, "set_activity", lambda boards, activity: activities.append(activity)
    )
    worker = Worker(Settings(**{**SETTINGS, "is_simulated": True}))
    worker.answer({"command": "open", "job": JOB})
    window = {"seconds": 0.01, "min_batches": 1, "parts": 1}
    assert worker.answer({"command": "measure", "batch": 8, **window})["kind"] == "measured"
    assert worker.answer({"command": "measure", "batch": 9, **window})["kind"] == "ended"
    refused = worker.answer({"command": "open", "job": {**JOB, "size": 225}})
    assert refused["kind"] == "refused"
    with pytest.raises(ValueError, match="there is no open model to measure"):
        worker.answer({"command": "measure", "batch": 8, **window})
    for command in ("open", "open", "idle", "idle"):
        worker.answer({"command": command, "job": JOB})
    assert activities == [
        *("resident", *(["computing", "resident"] * 2), "idle"),
        *("resident", "idle", "resident", "idle"),
    ]


def test_an_implementation_that_is_missing_ends_the_worker(start: Callable[..., Process]) -> None:
    worker = start("support.no_such_module:open_model")
    assert worker.first_answer["kind"] == "failed"
    assert "no_such_module" in worker.first_answer["reason"]
    assert worker.end()[0] == 1


def test_a_worker_ends_with_its_input(start: Callable[..., Process]) -> None:
    assert start().end()[0] == 0


def test_a_worker_ends_when_its_harness_is_killed() -> None:
    """A shell stands in for the harness. The input of the worker stays open."""
    settings = json.dumps({**SETTINGS, "harness_pid": "PID"}).replace('"PID"', "'$$'")
    command = f"{sys.executable} -m harness.studies.worker '{settings}' <&3 3<&- & wait"
    read_end, write_end = os.pipe()
    with subprocess.Popen(
        ["/bin/bash", "-c", f"exec 3<&{read_end}; {command}"],
        stdout=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
        pass_fds=[read_end],
    ) as shell:
        os.close(read_end)
        assert shell.stdout is not None
        assert json.loads(shell.stdout.readline())["kind"] == "ready"
        shell.kill()
        try:
            # The output ends when the last process that holds it has ended.
            assert shell.communicate(timeout=ANSWER_S)[0] == ""
        finally:
            os.close(write_end)


def test_a_worker_whose_harness_is_gone_does_not_start() -> None:
    settings = json.dumps({**SETTINGS, "harness_pid": os.getppid()})
    command = [sys.executable, "-m", "harness.studies.worker", settings]
    process = subprocess.run(
        command, input="", capture_output=True, text=True, env=ENVIRONMENT, check=False
    )
    assert (process.returncode, process.stdout) == (1, "")


def test_a_gpu_that_the_meter_does_not_read_ends_the_worker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "harness.studies.worker.read_gpu_uuid", ["GPU-a", "GPU-b", None].__getitem__
    )
    with pytest.raises(ValueError, match="cuda:1 is GPU-b, and the meter reads GPU-a"):
        check_gpu(1, "GPU-a")
    check_gpu(1, "GPU-b")
    check_gpu(2, "GPU-b")


class ScriptedModel:
    """A model whose batches take the scripted times in s, the last one again and again."""

    facts = ModelFacts(1, 1, 1)

    def __init__(self, clock: "MovedClock", batch_s: list[float]) -> None:
        self._clock, self._batch_s = clock, batch_s

    def prepare(self, batch: int) -> None:
        pass

    def run(self, batches: int, parts: int, mark: Callable[[], None]) -> None:
        mark()
        for _ in range(parts):
            for _ in range(batches):
                batch_s = self._batch_s.pop(0) if len(self._batch_s) > 1 else self._batch_s[0]
                self._clock.now_ns += round(1e9 * batch_s)
            mark()

    def peak_bytes(self) -> int:
        return 0

    def close(self) -> None:
        pass


class MovedClock(HostClock):
    """A host clock that the model moves."""

    now_ns = 0

    def mark(self) -> None:
        self._marks.append(self.now_ns)


@pytest.mark.parametrize(
    ("batch_s", "window", "batches"),
    [
        ([BATCH_S], Window(1, seconds=1.0, min_batches=1, parts=1), 515),
        ([BATCH_S], Window(1, seconds=10.0, min_batches=13, parts=10), 515),
        # 13 batches in ten parts take two batches a part.
        ([5.0], Window(1, seconds=10.0, min_batches=13, parts=10), 2),
        ([5.0], Window(1, seconds=1.0, min_batches=1, parts=1), 1),
        # A slow first batch misleads the plan, so the window is measured again.
        ([5.0, BATCH_S], Window(1, seconds=1.0, min_batches=1, parts=1), 516),
        ([5.0, BATCH_S], Window(1, seconds=10.0, min_batches=13, parts=10), 516),
    ],
)
def test_a_window_has_the_required_time_and_batches(
    batch_s: list[float], window: Window, batches: int
) -> None:
    clock = MovedClock()
    parts = measure(ScriptedModel(clock, list(batch_s)), clock, window)
    assert [part.batches for part in parts] == [batches] * window.parts
    assert sum(part.batches for part in parts) >= window.min_batches
    assert parts[-1].end_ns - parts[0].start_ns >= 1e9 * window.seconds
    warmup_s = min(0.3 * window.seconds, 0.5)
    assert warmup_s <= parts[0].start_ns / 1e9 < warmup_s + 2 * max(batch_s)
