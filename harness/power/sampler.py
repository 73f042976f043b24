"""Samples all accelerators of a node every 100 ms, in a process of its own: `python -m
harness.power.sampler SETTINGS`.

The process uses neither torch nor CUDA. One thread reads the power source, except energy counters
that are read apart (`harness.power.board_reader`). Timestamps are those of the node's monotonic
clock. Samples are kept in memory and appended to `samples.csv` on the
command `flush`, once an epoch. `harness.power.reading_process` has the deadlines, the writing and
the exchange with the harness. The commands are `power`, `latest`, `window`, `flush`,
`readback` and `stop`.
"""

import json
import os
import sys
import time
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import IO, NamedTuple

from harness.power.board_reader import BoardReader
from harness.power.reading_process import (
    ReadingLoop,
    ReadingProcess,
    Send,
    describe_write_failure,
    run_loop,
)
from harness.power.source import PowerSource, read_back
from harness.power.sources import open_source
from rules.bundle_format.records import OPTIONAL_SAMPLE_COLUMNS, SAMPLE_COLUMNS, Json, Sample

SAMPLES_FILE = "samples.csv"
UNUSED_DIRECTORY = "unused"
"""The directory, in that of a run, with the samples of the boards that the run does not use."""


@dataclass(frozen=True)
class Settings:
    """The task of the sampling process: read `accelerators` of `meter` every `interval_ms` and
    write the samples to `directory`."""

    meter: str
    accelerators: tuple[str, ...]
    node: str
    interval_ms: int
    directory: str

    @property
    def path(self) -> Path:
        """The file of the samples."""
        return Path(self.directory) / SAMPLES_FILE


class WindowSample(NamedTuple):
    """The columns of a sample that give the energy of a window."""

    read_ns: int
    power_mw: int | None
    power_avg_mw: int | None
    energy_mj: int | None


class LatestReading(NamedTuple):
    """The columns of a sample that a run exports."""

    power_mw: int | None
    power_avg_mw: int | None
    energy_mj: int | None
    cap_mw: int | None


class Sampler(ReadingProcess):
    """The harness's handle of the sampling process. As a context manager it starts and ends it.
    `stop` takes one more sample."""

    def __init__(self, settings: Settings) -> None:
        super().__init__("harness.power.sampler", settings, "the sampler")

    def measure_power(self, start_ns: int, end_ns: int) -> tuple[float | None, ...]:
        """Mean power in W of each accelerator between two times, over the samples that are not yet
        on disk. None if it was not read. Raises SamplerError."""
        answer = self._ask({"command": "power", "start_ns": start_ns, "end_ns": end_ns}, "power")
        return tuple(answer["power_w"])

    def read_latest(self) -> tuple[LatestReading, ...]:
        """The latest readings, one of each accelerator; none before the first tick. Raises
        SamplerError."""
        readings = self._ask({"command": "latest"}, "latest")["readings"]
        return tuple(LatestReading(*row) for row in readings)

    def read_window(self, start_ns: int, end_ns: int) -> tuple[list[WindowSample], ...]:
        """The samples of each accelerator from the last one before a window to the first one after
        it, for which this call waits. The window must have begun after the last flush. Raises
        SamplerError."""
        command = {"command": "window", "start_ns": start_ns, "end_ns": end_ns}
        windows = self._ask(command, "window")["samples"]
        return tuple([WindowSample(*row) for row in rows] for rows in windows)

    def flush(self) -> None:
        """Write all samples so far to disk. Raises SamplerError."""
        self._ask({"command": "flush"}, "flushed")

    def readback(self, own_pids: list[int]) -> list[Json]:
        """Limits and state of every accelerator now: the fields of `harness.power.source.Readback`
        and `accelerator`. `own_pids` are the processes of the run. Raises SamplerError."""
        answer = self._ask({"command": "readback", "own_pids": own_pids}, "readback")
        readbacks: list[Json] = answer["accelerators"]
        return readbacks


class _Loop(ReadingLoop):
    """The sampling loop."""

    # Energy is interpolated at the end of the last batch, so a sample must follow it.
    reads_after_stop = True

    def __init__(self, source: PowerSource, settings: Settings, file: IO[str], send: Send) -> None:
        super().__init__(
            settings.path,
            file,
            SAMPLE_COLUMNS + OPTIONAL_SAMPLE_COLUMNS,
            settings.interval_ms * 1_000_000,
        )
        self._source, self._settings, self._send = source, settings, send
        self._boards = BoardReader(source, settings.accelerators)
        self._latest: list[Sample] = []
        """The samples of the last tick before the last flush: a window may begin before the next
        tick."""
        self._window_ns: tuple[int, int] | None = None
        """The window whose samples the harness waits for."""

    def first_deadline_ns(self, now_ns: int) -> int:
        """The next multiple of the interval, and a phase away from the refresh of the counters."""
        phase_ns = self._boards.choose_phase_ns()
        now_ns = max(now_ns, time.monotonic_ns())
        return (now_ns // self._interval_ns + 1) * self._interval_ns + phase_ns

    def read_meter(self, scheduled_ns: int) -> None:
        uuids, node = self._settings.accelerators, self._settings.node
        self._rows += [
            Sample(scheduled_ns, read_ns, node, uuid, reading)
            for uuid, (read_ns, reading) in zip(uuids, self._boards.read(), strict=True)
        ]
        self._send_window()

    def flush(self) -> Future[None]:
        self._latest = self._rows[-len(self._settings.accelerators) :] or self._latest
        return super().flush()

    def execute(self, command: Json) -> None:
        if command["command"] == "power":
            means_w = self._compute_mean_power_w(command["start_ns"], command["end_ns"])
            self._send({"kind": "power", "power_w": means_w})
        elif command["command"] == "latest":
            latest = (self._rows or self._latest)[-len(self._settings.accelerators) :]
            readings = [sample.reading for sample in latest]
            rows = [(r.power_mw, r.power_avg_mw, r.energy_mj, r.cap_mw) for r in readings]
            self._send({"kind": "latest", "readings": rows})
        elif command["command"] == "window":
            self._window_ns = command["start_ns"], command["end_ns"]
            self._send_window()
        elif command["command"] == "flush":
            # Answer when the write is done. Waiting here would delay the next tick.
            self.flush().add_done_callback(self._report_flush)
        elif command["command"] == "readback":
            own_pids = frozenset(command["own_pids"])
            readbacks = [
                {"accelerator": uuid, **asdict(read_back(self._source, uuid, own_pids))}
                for uuid in self._settings.accelerators
            ]
            self._send({"kind": "readback", "accelerators": readbacks})

    def _compute_mean_power_w(self, start_ns: int, end_ns: int) -> list[float | None]:
        powers_mw: dict[str, list[int]] = {uuid: [] for uuid in self._settings.accelerators}
        for sample in self._rows:
            reading = sample.reading
            # RAPL and some boards have averaged power only.
            power_mw = reading.power_avg_mw if reading.power_mw is None else reading.power_mw
            if start_ns <= sample.read_ns <= end_ns and power_mw is not None:
                powers_mw[sample.accelerator].append(power_mw)
        return [fmean(mw) / 1e3 if mw else None for mw in powers_mw.values()]

    def _send_window(self) -> None:
        """Send the samples of the window that the harness waits for, once one follows it."""
        if self._window_ns is None:
            return
        start_ns, end_ns = self._window_ns
        samples = [
            [s for s in (*self._latest, *self._rows) if s.accelerator == uuid]
            for uuid in self._settings.accelerators
        ]
        if any(not board or board[-1].read_ns < end_ns for board in samples):
            return
        self._window_ns = None
        windows = [_select_window(board, start_ns, end_ns) for board in samples]
        self._send({"kind": "window", "samples": windows})

    def _report_flush(self, written: Future[None]) -> None:
        error = written.exception()
        self._send(
            {"kind": "flushed"}
            if error is None
            else {"kind": "unwritable", "reason": describe_write_failure(self._path, error)}
        )


def _select_window(samples: Sequence[Sample], start_ns: int, end_ns: int) -> list[WindowSample]:
    """The samples of a board from the last one before a window to the first one after it."""
    times_ns = [sample.read_ns for sample in samples]
    first, last = bisect_right(times_ns, start_ns) - 1, bisect_left(times_ns, end_ns)
    return [
        WindowSample(s.read_ns, s.reading.power_mw, s.reading.power_avg_mw, s.reading.energy_mj)
        for s in samples[max(first, 0) : last + 1]
    ]


def raise_priority() -> None:
    """Ask for real-time scheduling, so that busy CPUs delay no tick. Linux grants it to root and up
    to the limit `ulimit -r`. Elsewhere, and without the right, nothing changes."""
    with suppress(OSError, AttributeError):
        # Threads that start later, such as those of the counters, inherit it.
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


def main() -> None:
    """The sampling process."""
    settings = Settings(**json.loads(sys.argv[1]))
    raise_priority()
    run_loop(
        settings.path,
        lambda: open_source(settings.meter),
        lambda source, file, send: _Loop(source, settings, file, send),
    )


if __name__ == "__main__":
    main()
