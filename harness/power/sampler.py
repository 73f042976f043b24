"""Samples all accelerators of a node every 100 ms, in a process of its own: `python -m
harness.power.sampler SETTINGS`.

The process uses neither torch nor CUDA, and one thread reads the power source. Timestamps are those
of the node's monotonic clock. Deadlines are absolute, so delays do not add up. A missed tick is
counted and never caught up. Samples are kept in memory and appended to `samples.csv` on the command
`flush`, once an epoch. A second thread writes them, because a slow disk must not delay the next
tick. The process ends on the command `stop`, or when the harness has ended and its standard input
closes; in both cases it first writes all samples to disk.

It reads one JSON command per line, {"command": "power" | "flush" | "readback" | "stop", …}, and
answers each with one JSON line, {"kind": …}.
"""

import contextlib
import csv
import gc
import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import IO

from checker.terminal import describe_unwritable
from harness.power.source import MeterError, PowerSource, read_back
from harness.power.sources import open_source
from harness.processes import choose_timeout_s
from rules.bundle_format.records import SAMPLE_COLUMNS, Json, Sample

SAMPLES_FILE = "samples.csv"
UNUSED_DIRECTORY = "unused"
"""The directory, in that of a run, with the samples of the boards that the run does not use."""
STOP_TIMEOUT_S = 20.0


@dataclass(frozen=True)
class Settings:
    """The task of the sampling process: read `accelerators` of `meter` every `interval_ms` and
    write the samples to `directory`."""

    meter: str
    accelerators: tuple[str, ...]
    node: str
    interval_ms: int
    directory: str


class SamplerError(Exception):
    """The sampler ended or did not answer. The message says why."""


class SamplesUnwritable(SamplerError):
    """The samples cannot be written, on a full disk for example."""


class Sampler:
    """The harness's handle of the sampling process. As a context manager it starts and ends it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._process: subprocess.Popen[str] | None = None
        self._answers: list[Json] = []
        self._answer_arrived = threading.Condition()
        self._listener: threading.Thread | None = None

    def __enter__(self) -> "Sampler":
        text = json.dumps(asdict(self._settings))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "harness.power.sampler", text],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONSAFEPATH": "1"},
            start_new_session=True,  # Ctrl-C at the terminal is for the harness alone
        )
        assert self._process.stdout is not None
        # A thread reads the answers, so that waiting for one has a time limit.
        self._listener = threading.Thread(
            target=self._listen, args=(self._process.stdout,), daemon=True
        )
        self._listener.start()
        try:
            # Do not start workers before the meter is known to work.
            self._receive("started")
        except BaseException as error:
            self.__exit__(type(error))
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None = None, *exception: object) -> None:
        process = self._process
        if process is None:
            return
        if process.stdin is not None:
            with contextlib.suppress(OSError):  # it may have ended by itself
                process.stdin.close()  # tells the process to write all samples and end
        try:
            # After an interrupt the wait is short, so that restoring the power limits begins in
            # time.
            process.wait(choose_timeout_s(kind, STOP_TIMEOUT_S))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def measure_power(self, start_ns: int, end_ns: int) -> tuple[float | None, ...]:
        """Mean power in W of each accelerator between two times, over the samples that are not yet
        on disk. None if it was not read. Raises SamplerError."""
        answer = self._ask({"command": "power", "start_ns": start_ns, "end_ns": end_ns}, "power")
        return tuple(answer["power_w"])

    def flush(self) -> None:
        """Write all samples so far to disk. Raises SamplerError."""
        self._ask({"command": "flush"}, "flushed")

    def readback(self, own_pids: list[int]) -> list[Json]:
        """Limits and state of every accelerator now: the fields of `harness.power.source.Readback`
        and `accelerator`. `own_pids` are the processes of the run. Raises SamplerError."""
        answer = self._ask({"command": "readback", "own_pids": own_pids}, "readback")
        readbacks: list[Json] = answer["accelerators"]
        return readbacks

    def stop(self) -> Json:
        """Take one more sample, write all samples to disk and end. Returns the counts `ticks` and
        `missed`. Raises SamplerError."""
        answer = self._ask({"command": "stop"}, "stopped")
        return {"ticks": answer["ticks"], "missed": answer["missed"]}

    def _ask(self, command: Json, expected: str) -> Json:
        assert self._process is not None and self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(command) + "\n")
            self._process.stdin.flush()
        except OSError:
            raise SamplerError(
                f"the sampler ended by itself with status {self._process.wait()}"
            ) from None
        return self._receive(expected)

    def _receive(self, expected: str) -> Json:
        with self._answer_arrived:
            # A condition variable may wake up without an answer.
            while not self._answers:
                if not self._answer_arrived.wait(STOP_TIMEOUT_S):
                    raise SamplerError(f"the sampler did not answer within {STOP_TIMEOUT_S:.0f} s")
            answer = self._answers.pop(0)
        if answer["kind"] == "unwritable":
            raise SamplesUnwritable(answer["reason"])
        if answer["kind"] != expected:
            raise SamplerError(
                str(answer.get("reason", f"the sampler said {answer['kind']}, not {expected}"))
            )
        return answer

    def _listen(self, lines: IO[str]) -> None:
        for line in lines:
            with self._answer_arrived:
                self._answers.append(json.loads(line))
                self._answer_arrived.notify()
        with self._answer_arrived:
            self._answers.append(
                {"kind": "ended", "reason": "the sampler ended by itself; its error is above"}
            )
            self._answer_arrived.notify()


class _Loop:
    """The sampling loop. Times are in ns of the node's monotonic clock."""

    def __init__(
        self, source: PowerSource, settings: Settings, file: IO[str], send: Callable[[Json], None]
    ) -> None:
        self._source, self._settings, self._file, self._send = source, settings, file, send
        self._writer = csv.writer(file, lineterminator="\n")
        self._writer.writerow(SAMPLE_COLUMNS)
        self._samples: list[Sample] = []
        """The samples that are not yet on disk."""
        self._disk = ThreadPoolExecutor(1)
        self._ending = False
        self.ticks = 0
        self.missed = 0

    def run(self, commands: IO[bytes]) -> None:
        """Sample until the command `stop`, after which one more tick is taken, or until the
        commands end."""
        interval_ns = self._settings.interval_ms * 1_000_000
        start_ns = (time.monotonic_ns() // interval_ns + 1) * interval_ns
        slot = 0
        while self._wait(start_ns + slot * interval_ns, commands):
            self._tick(start_ns + slot * interval_ns)
            if self._ending:
                break
            # A tick that took too long passes over the next slots. They are missed, not caught up.
            latest = (time.monotonic_ns() - start_ns) // interval_ns
            self.missed += latest - slot
            slot = latest + 1
        # Wait for the writer thread: its error, such as a full disk, must reach the harness.
        self._flush().result()

    def _flush(self) -> Future[None]:
        # The writer thread owns the old list. The loop appends to a new one, so no lock is needed.
        samples, self._samples = self._samples, []
        return self._disk.submit(self._write, samples)

    def _write(self, samples: list[Sample]) -> None:
        self._writer.writerows(sample.row() for sample in samples)
        # On disk, not only in the page cache: a crash of the node loses at most one epoch.
        self._file.flush()
        os.fsync(self._file.fileno())

    def _wait(self, deadline_ns: int, commands: IO[bytes]) -> bool:
        """Wait for the deadline and execute the commands that arrive before it. False if the
        commands have ended."""
        while (left_ns := deadline_ns - time.monotonic_ns()) > 0:
            if self._ending:
                # After `stop` no command is read any more; only the deadline of the last tick is
                # left.
                time.sleep(left_ns / 1e9)
            # Commands run between two ticks, because one thread alone may call the power source.
            elif select.select([commands], [], [], left_ns / 1e9)[0]:
                line = commands.readline()
                # End of file: the harness has ended without the command `stop`.
                if not line:
                    return False
                self._execute(json.loads(line))
        return True

    def _execute(self, command: Json) -> None:
        if command["command"] == "power":
            means_w = self._compute_mean_power_w(command["start_ns"], command["end_ns"])
            self._send({"kind": "power", "power_w": means_w})
        elif command["command"] == "flush":
            # Answer when the write is done. Waiting here would delay the next tick.
            self._flush().add_done_callback(self._report_flush)
        elif command["command"] == "readback":
            own_pids = frozenset(command["own_pids"])
            readbacks = [
                {"accelerator": uuid, **asdict(read_back(self._source, uuid, own_pids))}
                for uuid in self._settings.accelerators
            ]
            self._send({"kind": "readback", "accelerators": readbacks})
        else:
            self._ending = True

    def _compute_mean_power_w(self, start_ns: int, end_ns: int) -> list[float | None]:
        powers_mw: dict[str, list[int]] = {uuid: [] for uuid in self._settings.accelerators}
        for sample in self._samples:
            reading = sample.reading
            # RAPL and some boards have averaged power only.
            power_mw = reading.power_avg_mw if reading.power_mw is None else reading.power_mw
            if start_ns <= sample.read_ns <= end_ns and power_mw is not None:
                powers_mw[sample.accelerator].append(power_mw)
        return [fmean(mw) / 1e3 if mw else None for mw in powers_mw.values()]

    def _report_flush(self, written: Future[None]) -> None:
        error = written.exception()
        self._send(
            {"kind": "flushed"}
            if error is None
            else {"kind": "unwritable", "reason": _describe_failure(self._settings, error)}
        )

    def _tick(self, scheduled_ns: int) -> None:
        for uuid in self._settings.accelerators:
            # Each accelerator has a time of its own, because reading eight boards takes
            # milliseconds.
            read_ns = time.monotonic_ns()
            reading = self._source.read(uuid)
            self._samples.append(Sample(scheduled_ns, read_ns, self._settings.node, uuid, reading))
        self.ticks += 1


def _describe_failure(settings: Settings, error: BaseException) -> str:
    path = Path(settings.directory) / SAMPLES_FILE
    if isinstance(error, OSError):
        return describe_unwritable(error, path)
    return f"{path}: cannot be written: {error}"


def main() -> None:
    """The sampling process."""
    settings = Settings(**json.loads(sys.argv[1]))

    def send(answer: Json) -> None:
        with contextlib.suppress(BrokenPipeError):  # the harness has ended; the samples are on disk
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()

    try:
        source = open_source(settings.meter)
    except MeterError as error:
        send({"kind": "failed", "reason": str(error)})
        return
    # The loop makes no reference cycles, and a collection would delay a tick.
    gc.collect()
    gc.disable()
    try:
        # Standard input is unbuffered, because select does not see what a buffer holds.
        with (
            (Path(settings.directory) / SAMPLES_FILE).open("w", newline="") as file,
            open(0, "rb", buffering=0) as commands,
        ):
            loop = _Loop(source, settings, file, send)
            send({"kind": "started"})
            loop.run(commands)
    except OSError as error:
        send({"kind": "unwritable", "reason": _describe_failure(settings, error)})
        return
    finally:
        source.close()
    send({"kind": "stopped", "ticks": loop.ticks, "missed": loop.missed})


if __name__ == "__main__":
    main()
