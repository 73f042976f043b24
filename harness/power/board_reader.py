"""Reads all accelerators of a node at one tick of the sampler.

An energy counter takes milliseconds to read and everything else microseconds. Therefore the other
quantities of all accelerators are read first, under one time stamp. Then the counters are read, one
thread for each accelerator, each with a time stamp of its own.
"""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from harness.errors import MeterError
from harness.power.source import CounterApart, PowerSource
from rules.bundle_format.records import Reading

REFRESH_NS = 100_000_000
"""The refresh period of the energy counter of an H200. A counter of another period has changes at
several phases of it."""
PROBING_NS = 3 * REFRESH_NS
PROBING_PAUSE_S = 0.001


class BoardReader:
    """Reads the accelerators `uuids` of a source."""

    def __init__(self, source: PowerSource, uuids: Sequence[str]) -> None:
        self._source, self._uuids = source, uuids
        self._threads = ThreadPoolExecutor(len(uuids))

    def read(self) -> list[tuple[int, Reading]]:
        """Time in ns and reading of each accelerator, in the order of `uuids`."""
        source = self._source
        if not isinstance(source, CounterApart):
            # Each accelerator has a time of its own, because reading eight boards takes
            # milliseconds.
            return [(time.monotonic_ns(), source.read(uuid)) for uuid in self._uuids]
        read_ns = time.monotonic_ns()
        states = [source.read_state(uuid) for uuid in self._uuids]
        counters = self._threads.map(lambda uuid: read_counter(source, uuid), self._uuids)
        return [
            (read_ns, _add_counter(state, counter))
            for state, counter in zip(states, counters, strict=True)
        ]

    def choose_phase_ns(self) -> int:
        """How long after a multiple of `REFRESH_NS` a tick is as far as possible from the refreshes
        of all counters. A reading beside a refresh is up to one period old or not, by chance. 0 if
        the counters are not read apart or do not change."""
        source, phases_ns = self._source, set[int]()
        if not isinstance(source, CounterApart):
            return 0
        latest: dict[str, tuple[int, int | None]] = {}
        end_ns = time.monotonic_ns() + PROBING_NS
        while time.monotonic_ns() < end_ns:
            for uuid in self._uuids:
                counter_ns, energy_mj, _ = read_counter(source, uuid)
                earlier = latest.get(uuid)
                if earlier is not None and earlier[1] != energy_mj:
                    phases_ns.add((earlier[0] + counter_ns) // 2 % REFRESH_NS)
                latest[uuid] = counter_ns, energy_mj
            time.sleep(PROBING_PAUSE_S)
        return find_widest_gap(sorted(phases_ns), REFRESH_NS)


def read_counter(source: CounterApart, uuid: str) -> tuple[int, int | None, str]:
    """Time in ns, energy in mJ and why it could not be read."""
    start_ns = time.monotonic_ns()
    try:
        energy_mj, error = source.read_counter(uuid), ""
    except MeterError as failure:
        energy_mj, error = None, f"energy_mj: {failure}"
    return (start_ns + time.monotonic_ns()) // 2, energy_mj, error


def _add_counter(state: Reading, counter: tuple[int, int | None, str]) -> Reading:
    counter_ns, energy_mj, error = counter
    # The status has room for one text.
    status = error if error and state.status == "ok" else state.status
    return replace(state, energy_mj=energy_mj, counter_ns=counter_ns, status=status)


def find_widest_gap(phases: Sequence[int], period: int) -> int:
    """The middle of the longest part of a period without any of the rising phases; 0 without
    phases."""
    if not phases:
        return 0
    ends = [*phases[1:], phases[0] + period]
    gaps = [end - start for start, end in zip(phases, ends, strict=True)]
    widest = gaps.index(max(gaps))
    return (phases[widest] + gaps[widest] // 2) % period
