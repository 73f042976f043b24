"""Reads one node meter, in a process of its own: `python -m harness.power.node_reader SETTINGS`.

A request over a network may wait a second for its answer, in which the sampler of the accelerators
would miss ten readings. The process opens meters.toml itself, so neither address nor secret are on
a command line. A reading that fails is a row with a status. Rows are appended to
`node_samples.METER.csv` every 5 s. `harness.power.reading_process` has the deadlines, the writing
and the exchange with the harness. The only command is `stop`.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from harness.errors import MeterError
from harness.power.meter_access import read_access
from harness.power.node_meter import NodeMeter
from harness.power.nodes import open_node_meter
from harness.power.reading_process import (
    ReadingLoop,
    ReadingProcess,
    SamplerError,
    SamplesUnwritable,
    Send,
    run_loop,
)
from rules.bundle_format.records import NODE_SAMPLE_COLUMNS, Json, NodeSample
from rules.declarations.system import MeterDeclaration

NODE_SAMPLES_PREFIX = "node_samples."
FLUSH_NS = 5_000_000_000
MARGIN_S = 5.0


@dataclass(frozen=True)
class MeterSampling:
    """How often a node read a meter: an entry of `node_sampling` of result.json."""

    meter: str
    node: str
    interval_ms: float
    ticks: int
    missed: int
    cap_changes: int | None = None
    """How often the power caps of the node changed meanwhile; None if the meter does not tell."""


@dataclass(frozen=True)
class Settings:
    """The task of a reading process: read the `feeds` of a meter that supply `node` every
    `interval_ms`, and write the rows to `directory`."""

    meter: str
    kind: str
    feeds: tuple[str, ...]
    node: str
    interval_ms: float
    directory: str
    access_file: str

    @property
    def path(self) -> Path:
        """The file of the rows."""
        return Path(self.directory) / f"{NODE_SAMPLES_PREFIX}{self.meter}.csv"


def select_feeds(meter: MeterDeclaration, node: str) -> tuple[str, ...]:
    """The feeds of a meter that supply a node. Each node reads its own feeds."""
    return tuple(feed.feed for feed in meter.feeds if feed.node == node)


class NodeReaders:
    """The reading processes of the node meters of one node."""

    def __init__(
        self,
        meters: Sequence[MeterDeclaration],
        node: str,
        directory: Path,
        access_file: Path,
        log_line: Callable[[str], None],
    ) -> None:
        self._settings = [
            Settings(
                meter.id,
                meter.kind,
                feeds,
                node,
                meter.interval_ms,
                str(directory.resolve()),
                str(access_file),
            )
            for meter in meters
            if (feeds := select_feeds(meter, node))
        ]
        self._log_line = log_line
        self._processes: list[ReadingProcess] = []

    @property
    def margin_s(self) -> float:
        """How long the readings go on before the first and after the last batch: at least 5 s and
        two intervals of every meter. 0 without a meter."""
        intervals_s = [settings.interval_ms / 1e3 for settings in self._settings]
        # One interval more, because the last reading may be that old when the readers stop.
        return max((max(MARGIN_S, 2 * s) + s for s in intervals_s), default=0.0)

    @contextmanager
    def run(self) -> Iterator["NodeReaders"]:
        """Read while the block runs. Raises MeterError if a meter cannot be opened."""
        with ExitStack() as stack:
            for settings in self._settings:
                process = ReadingProcess(
                    "harness.power.node_reader", settings, f"the reader of meter {settings.meter}"
                )
                try:
                    self._processes.append(stack.enter_context(process))
                except SamplesUnwritable:
                    raise
                except SamplerError as error:
                    raise MeterError(str(error)) from None
            yield self

    def stop(self) -> tuple[MeterSampling, ...]:
        """End all readers, and return how often each read. Raises SamplesUnwritable.

        A reader that ended early does not end the run. Its rows until then are kept, and the gap
        shows in them.
        """
        sampling = []
        for settings, process in zip(self._settings, self._processes, strict=True):
            counts = {"ticks": 0, "missed": 0}
            try:
                counts = process.stop()
            except SamplesUnwritable:
                raise
            except SamplerError as error:
                self._log_line(f"meter {settings.meter}: {error}")
            if count := counts.get("cap_changes"):
                self._log_line(
                    f"meter {settings.meter}: the power caps of the node changed while it was read "
                    f"(times: {count})"
                )
            sampling.append(
                MeterSampling(settings.meter, settings.node, settings.interval_ms, **counts)
            )
        return tuple(sampling)


class _Loop(ReadingLoop):
    """The loop that reads a node meter."""

    def __init__(self, meter: NodeMeter, settings: Settings, file: IO[str]) -> None:
        super().__init__(
            settings.path, file, NODE_SAMPLE_COLUMNS, round(1e6 * settings.interval_ms)
        )
        self._meter, self._settings = meter, settings
        self._flushed_ns = 0

    def read_meter(self, scheduled_ns: int) -> None:
        sent_ns = time.monotonic_ns()
        readings = self._meter.read()
        read_ns = time.monotonic_ns()
        settings = self._settings
        self._rows += (
            NodeSample(scheduled_ns, sent_ns, read_ns, settings.node, settings.meter, feed, reading)
            for feed, reading in readings
        )
        if read_ns - self._flushed_ns >= FLUSH_NS:
            self._flushed_ns = read_ns
            self.flush()

    def count(self) -> Json:
        return {**super().count(), "cap_changes": self._meter.count_cap_changes()}

    def execute(self, command: Json) -> None:
        raise AssertionError(f"a reader has no command {command['command']!r}")


def main() -> None:
    """The reading process."""
    arguments = json.loads(sys.argv[1])
    settings = Settings(**{**arguments, "feeds": tuple(arguments["feeds"])})

    def open_meter() -> NodeMeter:
        access = read_access(
            Path(settings.access_file), settings.meter, settings.kind, settings.feeds
        )
        return open_node_meter(access)

    def make_loop(meter: NodeMeter, file: IO[str], send: Send) -> ReadingLoop:
        return _Loop(meter, settings, file)

    run_loop(settings.path, open_meter, make_loop)


if __name__ == "__main__":
    main()
