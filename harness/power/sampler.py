"""Samples all accelerators of a node every 100 ms, in a process of its own: `python -m
harness.power.sampler SETTINGS`.

The process holds no torch and no CUDA context and reads its meter from one thread. Its clock is the
node's monotonic clock, deadlines are absolute, and a tick that is missed is counted and never
caught up. Samples are kept in memory and appended to `samples.csv` when told to `flush`, once an
epoch; a second thread writes them, for a slow disk must not hold up the next tick. It ends when
told to `stop`, or when the harness is gone and its standard input closes; either way everything is
on disk by then.

It reads one JSON command a line, {"do": "flush" | "readback" | "stop", …}, and answers with one
JSON line each. Without being asked it says once a second the mean power of each accelerator since
it last did.
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
from typing import IO, Any

from harness.power.source import MeterError, PowerSource, read_back
from harness.power.sources import open_source
from harness.run.processes import patience_s
from rules.bundle_format.records import SAMPLE_COLUMNS, Json, Sample

SAMPLES_FILE = "samples.csv"
STATUS_TICKS = 10
STOP_TIMEOUT_S = 20.0


@dataclass(frozen=True)
class Settings:
    """What the sampling process is to do: read `accelerators` of `meter` every `interval_ms` into
    `directory`."""

    meter: str
    accelerators: tuple[str, ...]
    node: str
    interval_ms: int
    directory: str


class SamplerError(Exception):
    """The sampler ended or did not answer; the message says why."""


class Sampler:
    """The harness's end of the sampling process; a context manager that starts it and ends it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._process: subprocess.Popen[str] | None = None
        self._answers: list[Json] = []
        self._arrived = threading.Condition()
        self._reader: threading.Thread | None = None
        self.power_w: tuple[float | None, ...] = ()
        """The power of each accelerator, a mean over the latest second."""

    def __enter__(self) -> "Sampler":
        text = json.dumps(asdict(self._settings))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "harness.power.sampler", text],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONSAFEPATH": "1"},
            start_new_session=True,  # an interrupt typed at the terminal is the harness's to handle
        )
        assert self._process.stdout is not None
        self._reader = threading.Thread(
            target=self._listen, args=(self._process.stdout,), daemon=True
        )
        self._reader.start()
        try:
            self._answer("started")
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
                process.stdin.close()  # the process writes everything and ends
        try:
            process.wait(patience_s(kind, STOP_TIMEOUT_S))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def flush(self) -> None:
        """Have all samples so far written to disk. Raises SamplerError."""
        self._ask({"do": "flush"}, "flushed")

    def readback(self, own_pids: list[int]) -> list[Json]:
        """Limits and state of every accelerator now: `harness.power.source.Readback` as objects,
        with `accelerator`."""
        found: list[Json] = self._ask({"do": "readback", "own_pids": own_pids}, "readback")[
            "accelerators"
        ]
        return found

    def stop(self) -> Json:
        """Have it take one more sample, write everything and end; returns `ticks` and `missed`.
        Raises SamplerError."""
        said = self._ask({"do": "stop"}, "stopped")
        return {"ticks": said["ticks"], "missed": said["missed"]}

    def _ask(self, command: Json, expected: str) -> Json:
        assert self._process is not None and self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(command) + "\n")
            self._process.stdin.flush()
        except OSError:
            raise SamplerError(
                f"the sampler ended by itself with status {self._process.wait()}"
            ) from None
        return self._answer(expected)

    def _answer(self, expected: str) -> Json:
        with self._arrived:
            while not self._answers:
                if not self._arrived.wait(STOP_TIMEOUT_S):
                    raise SamplerError(f"the sampler did not answer within {STOP_TIMEOUT_S:.0f} s")
            answer = self._answers.pop(0)
        if answer["said"] != expected:
            raise SamplerError(
                str(answer.get("reason", f"the sampler said {answer['said']}, not {expected}"))
            )
        return answer

    def _listen(self, lines: IO[str]) -> None:
        for line in lines:
            said = json.loads(line)
            if said["said"] == "power":
                self.power_w = tuple(said["power_w"])
                continue
            with self._arrived:
                self._answers.append(said)
                self._arrived.notify()
        with self._arrived:
            self._answers.append(
                {"said": "ended", "reason": "the sampler ended by itself; its last words are above"}
            )
            self._arrived.notify()


class _Loop:
    """The sampling loop. Times are in ns on the node's monotonic clock."""

    def __init__(
        self, source: PowerSource, settings: Settings, file: IO[str], say: Callable[[Json], None]
    ) -> None:
        self._source, self._settings, self._file, self._say = source, settings, file, say
        self._writer = csv.writer(file, lineterminator="\n")
        self._writer.writerow(SAMPLE_COLUMNS)
        self._rows: list[tuple[Any, ...]] = []
        self._untold_mw: list[list[int | None]] = []
        self._disk = ThreadPoolExecutor(1)
        self._ending = False
        self.ticks = 0
        self.missed = 0

    def run(self, commands: IO[bytes]) -> None:
        """Sample until told to stop, after which one more tick is taken, or until the commands
        end."""
        interval_ns = self._settings.interval_ms * 1_000_000
        start_ns = (time.monotonic_ns() // interval_ns + 1) * interval_ns
        slot = 0
        while self._wait(start_ns + slot * interval_ns, commands):
            self._tick(start_ns + slot * interval_ns)
            if self._ending:
                break
            latest = (time.monotonic_ns() - start_ns) // interval_ns
            self.missed += latest - slot
            slot = latest + 1
        self._flush().result()

    def _flush(self) -> Future[None]:
        rows, self._rows = self._rows, []
        return self._disk.submit(self._write, rows)

    def _write(self, rows: list[tuple[Any, ...]]) -> None:
        self._writer.writerows(rows)
        self._file.flush()
        os.fsync(self._file.fileno())

    def _wait(self, deadline_ns: int, commands: IO[bytes]) -> bool:
        """Wait for the deadline, obeying what comes in meanwhile; False where the commands have
        ended."""
        while (left_ns := deadline_ns - time.monotonic_ns()) > 0:
            if self._ending:
                time.sleep(left_ns / 1e9)
            elif select.select([commands], [], [], left_ns / 1e9)[0]:
                line = commands.readline()
                if not line:
                    return False
                self._obey(json.loads(line))
        return True

    def _obey(self, command: Json) -> None:
        if command["do"] == "flush":
            self._flush().add_done_callback(self._flushed)
        elif command["do"] == "readback":
            own = frozenset(command["own_pids"])
            states = [
                {"accelerator": u, **asdict(read_back(self._source, u, own))}
                for u in self._settings.accelerators
            ]
            self._say({"said": "readback", "accelerators": states})
        else:
            self._ending = True

    def _flushed(self, written: Future[None]) -> None:
        error = written.exception()
        self._say(
            {"said": "flushed"}
            if error is None
            else {"said": "failed", "reason": f"samples cannot be written: {error}"}
        )

    def _tick(self, scheduled_ns: int) -> None:
        readings = []
        for uuid in self._settings.accelerators:
            read_ns = time.monotonic_ns()
            reading = self._source.read(uuid)
            readings.append(reading)
            self._rows.append(
                Sample(scheduled_ns, read_ns, self._settings.node, uuid, reading).row()
            )
        # One reading swings with the phase of a batch, by 100 W and more, and would be taken for
        # the power of the epoch.
        self._untold_mw.append(
            [r.power_avg_mw if r.power_mw is None else r.power_mw for r in readings]
        )
        if self.ticks % STATUS_TICKS == 0:
            known_mw = [
                [p for p in own if p is not None] for own in zip(*self._untold_mw, strict=True)
            ]
            self._say(
                {
                    "said": "power",
                    "power_w": [fmean(own) / 1e3 if own else None for own in known_mw],
                }
            )
            self._untold_mw.clear()
        self.ticks += 1


def main() -> None:
    """The sampling process."""
    settings = Settings(**json.loads(sys.argv[1]))

    def say(answer: Json) -> None:
        with contextlib.suppress(BrokenPipeError):  # the harness is gone: what matters is on disk
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()

    try:
        source = open_source(settings.meter)
    except MeterError as error:
        say({"said": "failed", "reason": str(error)})
        return
    gc.collect()
    gc.disable()  # nothing here makes cycles, and a collection would come between two ticks
    try:
        table = (Path(settings.directory) / SAMPLES_FILE).open("w", newline="")
        with (
            table as file,
            open(0, "rb", buffering=0) as stdin,
        ):  # unbuffered, so that select sees what is there
            loop = _Loop(source, settings, file, say)
            say({"said": "started"})
            loop.run(stdin)
    except OSError as error:
        say({"said": "failed", "reason": f"samples cannot be written: {error}"})
        return
    finally:
        source.close()
    say({"said": "stopped", "ticks": loop.ticks, "missed": loop.missed})


if __name__ == "__main__":
    main()
