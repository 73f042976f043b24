"""A process that reads a meter on absolute deadlines and appends what it read to a file: what the
sampler of the accelerators and the readers of node meters share.

One thread reads the meter. A second thread writes, because a slow disk must not delay the next
reading. Deadlines are absolute, so delays do not add up. A missed deadline is counted and never
caught up. The process ends on the command `stop`, or when the harness has ended and its standard
input closes. In both cases it first writes all rows to disk.

It reads one JSON command per line, {"command": NAME, …}, and answers each with one JSON line,
{"kind": …}.
"""

import contextlib
import csv
import gc
import json
import os
import select
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol, Self, TypeVar

from checker.terminal import describe_unwritable
from harness.errors import MeterError
from harness.json_child import ChildEnded, ChildSilent, JsonChild
from harness.processes import choose_timeout_s
from rules.bundle_format.records import Json

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

STOP_TIMEOUT_S = 20.0
Send = Callable[[Json], None]


class SamplerError(Exception):
    """A reading process ended or did not answer. The message says why."""


class SamplesUnwritable(SamplerError):
    """The rows cannot be written, on a full disk for example."""


class ReadingProcess:
    """The harness's handle of a reading process. As a context manager it starts and ends it.

    `module` is the module to run, `settings` its task, and `name` what messages call it.
    """

    def __init__(self, module: str, settings: "DataclassInstance", name: str) -> None:
        self._arguments = ["-m", module, json.dumps(asdict(settings))]
        self._name = name
        self._child: JsonChild | None = None

    def __enter__(self) -> Self:
        self._child = JsonChild(self._arguments, os.environ)
        try:
            # Do not start workers before the meter is known to work.
            self._receive("started")
        except BaseException as error:
            self.__exit__(type(error))
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None = None, *exception: object) -> None:
        if self._child is not None:
            # The process first writes all rows. After an interrupt the wait is short, so that
            # restoring the power limits begins in time.
            self._child.close(choose_timeout_s(kind, STOP_TIMEOUT_S))

    def stop(self) -> Json:
        """Write all rows to disk and end. Returns the counts of the loop. Raises SamplerError."""
        counts: Json = self._ask({"command": "stop"}, "stopped")["counts"]
        return counts

    def _ask(self, command: Json, expected: str) -> Json:
        assert self._child is not None
        # The reason why a process has ended is among its answers.
        with contextlib.suppress(ChildEnded):
            self._child.send(command)
        return self._receive(expected)

    def _receive(self, expected: str) -> Json:
        assert self._child is not None
        try:
            answer: Json = self._child.receive(STOP_TIMEOUT_S)
        except ChildSilent:
            raise SamplerError(
                f"{self._name} did not answer within {STOP_TIMEOUT_S:.0f} s"
            ) from None
        except ChildEnded as end:
            raise SamplerError(f"{self._name} ended by itself with status {end.status}") from None
        if answer["kind"] == "unwritable":
            raise SamplesUnwritable(answer["reason"])
        if answer["kind"] != expected:
            raise SamplerError(
                str(answer.get("reason", f"{self._name} said {answer['kind']}, not {expected}"))
            )
        return answer


class Row(Protocol):
    """A reading with its times."""

    def row(self) -> tuple[Any, ...]: ...


class ReadingLoop(ABC):
    """The loop of a reading process. Times are in ns of the node's monotonic clock."""

    reads_after_stop = False
    """Whether the command `stop` waits for one more deadline."""

    def __init__(self, path: Path, file: IO[str], columns: Sequence[str], interval_ns: int) -> None:
        self._path, self._file, self._interval_ns = path, file, interval_ns
        self._writer = csv.writer(file, lineterminator="\n")
        self._writer.writerow(columns)
        self._rows: list[Any] = []
        """The rows that are not yet on disk."""
        self._disk = ThreadPoolExecutor(1)
        self._ending = False
        self.ticks = 0
        self.missed = 0

    @abstractmethod
    def read_meter(self, scheduled_ns: int) -> None:
        """Read the meter and keep the rows."""

    @abstractmethod
    def execute(self, command: Json) -> None:
        """Execute a command other than `stop`."""

    def count(self) -> Json:
        """What the loop counted."""
        return {"ticks": self.ticks, "missed": self.missed}

    def first_deadline_ns(self, now_ns: int) -> int:
        """The first deadline of a loop that starts now."""
        return now_ns

    def run(self, commands: IO[bytes]) -> None:
        """Read until the command `stop`, or until the commands end."""
        start_ns = self.first_deadline_ns(time.monotonic_ns())
        slot = 0
        while self._wait(start_ns + slot * self._interval_ns, commands):
            self.tick(start_ns + slot * self._interval_ns)
            if self._ending:
                break
            # A tick that took too long passes over the next slots. They are missed, not caught up.
            latest = (time.monotonic_ns() - start_ns) // self._interval_ns
            self.missed += latest - slot
            slot = latest + 1
        # Wait for the writer thread: its error, such as a full disk, must reach the harness.
        self.flush().result()

    def tick(self, scheduled_ns: int) -> None:
        """Read the meter once and count that."""
        self.read_meter(scheduled_ns)
        self.ticks += 1

    def flush(self) -> Future[None]:
        """Have the writer thread write all rows to disk."""
        # The writer thread owns the old list. The loop appends to a new one, so no lock is needed.
        rows, self._rows = self._rows, []
        return self._disk.submit(self._write, rows)

    def _write(self, rows: Sequence[Row]) -> None:
        self._writer.writerows(row.row() for row in rows)
        # On disk, not only in the page cache: a crash of the node loses no rows before this.
        self._file.flush()
        os.fsync(self._file.fileno())

    def _wait(self, deadline_ns: int, commands: IO[bytes]) -> bool:
        """Wait for the deadline and execute the commands that arrive before it. False if the
        commands have ended."""
        while (left_ns := deadline_ns - time.monotonic_ns()) > 0:
            if self._ending:
                if not self.reads_after_stop:
                    return False
                # After `stop` no command is read any more; only the deadline of the last tick is
                # left.
                time.sleep(left_ns / 1e9)
            # Commands run between two ticks, because one thread alone may call the meter.
            elif select.select([commands], [], [], left_ns / 1e9)[0]:
                line = commands.readline()
                # End of file: the harness has ended without the command `stop`.
                if not line:
                    return False
                command = json.loads(line)
                if command["command"] == "stop":
                    self._ending = True
                else:
                    self.execute(command)
        return True


class Closable(Protocol):
    """A meter that is open."""

    def close(self) -> None: ...


Meter = TypeVar("Meter", bound=Closable)


def run_loop(
    path: Path,
    open_meter: Callable[[], Meter],
    make_loop: Callable[[Meter, IO[str], Send], ReadingLoop],
) -> None:
    """Be a reading process: open the meter, run its loop, write its rows to `path`."""

    def send(answer: Json) -> None:
        with contextlib.suppress(BrokenPipeError):  # the harness has ended; the rows are on disk
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()

    try:
        meter = open_meter()
    except MeterError as error:
        send({"kind": "failed", "reason": str(error)})
        return
    # The loop makes no reference cycles, and a collection would delay a tick.
    gc.collect()
    gc.disable()
    try:
        # Standard input is unbuffered, because select does not see what a buffer holds.
        with path.open("w", newline="") as file, open(0, "rb", buffering=0) as commands:
            loop = make_loop(meter, file, send)
            send({"kind": "started"})
            loop.run(commands)
            counts = loop.count()
    except OSError as error:
        send({"kind": "unwritable", "reason": describe_write_failure(path, error)})
        return
    finally:
        meter.close()
    send({"kind": "stopped", "counts": counts})


def describe_write_failure(path: Path, error: BaseException) -> str:
    """Why the rows could not be written to `path`, and what to do."""
    if isinstance(error, OSError):
        return describe_unwritable(error, path)
    return f"{path}: cannot be written: {error}"
