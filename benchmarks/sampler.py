"""Sampling intervals of four simulated boards whose energy counters take as long to read as those
of busy H200s: each board read as a whole, one after the other, and counters read apart.

    python benchmarks/sampler.py [SECONDS]
"""

import sys
import time
from collections.abc import Sequence

import numpy as np

from harness.power.board_reader import BoardReader
from harness.power.source import Device, PowerSource
from harness.power.sources import open_source
from rules.bundle_format.records import Reading

METER = "simulated:h200,counter-read=3.7"
BOARDS = 4
INTERVAL_NS = 100_000_000


class ReadAsWhole(PowerSource):
    """A source without the interface that reads counters apart."""

    def __init__(self, source: PowerSource) -> None:
        self._source = source

    @classmethod
    def open(cls, argument: str) -> "ReadAsWhole":
        return cls(open_source(argument))

    def devices(self) -> list[Device]:
        return self._source.devices()

    def read(self, uuid: str) -> Reading:
        return self._source.read(uuid)


def measure_intervals_ms(source: PowerSource, uuids: Sequence[str], ticks: int) -> np.ndarray:
    """The intervals between the readings of each board, shape (ticks - 1, boards)."""
    reader = BoardReader(source, uuids)
    start_ns = time.monotonic_ns() + INTERVAL_NS
    times_ns = []
    for tick in range(ticks):
        time.sleep(max(0, start_ns + tick * INTERVAL_NS - time.monotonic_ns()) / 1e9)
        times_ns.append([read_ns for read_ns, _ in reader.read()])
    return np.diff(np.array(times_ns), axis=0) / 1e6


def main() -> None:
    """Print a table."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    source = open_source(METER)
    uuids = [device.uuid for device in source.devices()][:BOARDS]
    print("| way | board | interval ms: p1, p50, p99, max |\n|---|---|---|")
    for name, way in (("one after the other", ReadAsWhole(source)), ("apart", source)):
        intervals_ms = measure_intervals_ms(way, uuids, round(10 * seconds))
        for board in (0, BOARDS - 1):
            board_ms = intervals_ms[:, board]
            figures = *np.percentile(board_ms, (1, 50, 99)), board_ms.max()
            print(f"| {name} | {board} | {', '.join(f'{value:.2f}' for value in figures)} |")


if __name__ == "__main__":
    main()
