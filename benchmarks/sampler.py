"""Sampling intervals of four simulated boards whose energy counters take as long to read as those
of busy H200s: each board read as a whole, one after the other, and counters read apart, the latter
also with busy CPUs, without and with real-time scheduling.

    python benchmarks/sampler.py [SECONDS]
"""

import multiprocessing
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from harness.power.board_reader import BoardReader
from harness.power.sampler import raise_priority
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


def measure_intervals_ms(as_whole: bool, real_time: bool, ticks: int) -> np.ndarray:
    """The intervals between the readings of each board, shape (ticks - 1, boards)."""
    if real_time:
        raise_priority()
    source = open_source(METER)
    uuids = [device.uuid for device in source.devices()][:BOARDS]
    reader = BoardReader(ReadAsWhole(source) if as_whole else source, uuids)
    start_ns = time.monotonic_ns() + INTERVAL_NS
    times_ns = []
    for tick in range(ticks):
        time.sleep(max(0, start_ns + tick * INTERVAL_NS - time.monotonic_ns()) / 1e9)
        times_ns.append([read_ns for read_ns, _ in reader.read()])
    return np.diff(np.array(times_ns), axis=0) / 1e6


def spin() -> None:
    """Occupy a CPU."""
    while True:
        pass


@contextmanager
def busy_cpus(count: int) -> Iterator[None]:
    """Run this number of processes that each occupy a CPU."""
    processes = [multiprocessing.Process(target=spin, daemon=True) for _ in range(count)]
    for process in processes:
        process.start()
    try:
        yield
    finally:
        for process in processes:
            process.terminate()


def main() -> None:
    """Print a table."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    cpus = os.cpu_count() or 1
    print("| way | other load | board | interval ms: p1, p50, p99, max |\n|---|---|---|---|")
    for name, as_whole, busy, real_time in (
        ("one after the other", True, 0, False),
        ("apart", False, 0, False),
        ("apart", False, 2 * cpus, False),
        ("apart, real-time scheduling", False, 2 * cpus, True),
    ):
        # A process of its own, because real-time scheduling stays.
        with busy_cpus(busy), multiprocessing.Pool(1) as pool:
            ticks = round(10 * seconds)
            intervals_ms = pool.apply(measure_intervals_ms, (as_whole, real_time, ticks))
        load = f"{busy} processes on {cpus} CPUs" if busy else "none"
        for board in (0, BOARDS - 1):
            board_ms = intervals_ms[:, board]
            figures = *np.percentile(board_ms, (1, 50, 99)), board_ms.max()
            texts = ", ".join(f"{value:.2f}" for value in figures)
            print(f"| {name} | {load} | {board} | {texts} |")


if __name__ == "__main__":
    main()
