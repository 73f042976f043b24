"""Reading several boards at one tick: one time for power and states, and a counter that takes long
delays neither them nor the other counters."""

import csv
import os
import subprocess
import sys
import time
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest

from harness.errors import MeterError
from harness.power import board_reader
from harness.power.board_reader import REFRESH_NS, BoardReader, find_widest_gap
from harness.power.sampler import Sampler, Settings, raise_priority
from harness.power.source import CounterApart, Device, PowerSource
from rules.bundle_format.records import Reading

MS = 1_000_000
UUIDS = ("GPU-0", "GPU-1", "GPU-2", "GPU-3")


class SlowCounters(PowerSource, CounterApart):
    """Four boards whose counters answer when all of them are asked, and 20 ms later. The last one
    fails."""

    def __init__(self) -> None:
        self._all_asked = Barrier(len(UUIDS))

    @classmethod
    def open(cls, argument: str) -> "SlowCounters":
        return cls()

    def devices(self) -> list[Device]:
        return [Device(uuid, "H", "NVIDIA") for uuid in UUIDS]

    def read(self, uuid: str) -> Reading:
        raise AssertionError("the counter would be read with the rest")

    def read_state(self, uuid: str) -> Reading:
        return Reading(power_mw=500_000)

    def read_counter(self, uuid: str) -> int | None:
        self._all_asked.wait(20)
        time.sleep(0.02)
        if uuid == UUIDS[-1]:
            raise MeterError("timeout")
        return 7_000


def test_power_of_all_boards_has_one_time_and_counters_are_read_side_by_side() -> None:
    readings = BoardReader(SlowCounters(), UUIDS).read()
    end_ns = time.monotonic_ns()
    assert len({read_ns for read_ns, _ in readings}) == 1
    for read_ns, reading in readings:
        assert reading.power_mw == 500_000
        # The middle of a read of at least 20 ms.
        assert read_ns + 10 * MS <= reading.counter_ns <= end_ns - 10 * MS
    assert [reading.energy_mj for _, reading in readings] == [7_000, 7_000, 7_000, None]
    assert readings[0][1].status == "ok" and readings[3][1].status == "energy_mj: timeout"


class Clock:
    """A clock that sleep alone moves."""

    now_ns = 1_000_013 * MS

    def monotonic_ns(self) -> int:
        return self.now_ns

    def sleep(self, seconds: float) -> None:
        self.now_ns += round(1e9 * seconds)


class RefreshingCounters(SlowCounters):
    """Counters that change at 20 and at 40 ms after each multiple of 100 ms."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def read_counter(self, uuid: str) -> int | None:
        phase_ns = 20 * MS if uuid == UUIDS[0] else 40 * MS
        return (self._clock.monotonic_ns() - phase_ns) // REFRESH_NS


def test_ticks_keep_away_from_the_refreshes_of_all_counters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock()
    monkeypatch.setattr(board_reader, "time", clock)
    phase_ns = BoardReader(RefreshingCounters(clock), UUIDS[:2]).choose_phase_ns()
    # The widest part without a refresh is from 40 to 120 ms.
    assert phase_ns == pytest.approx(80 * MS, abs=MS)


class SlowerCounters(SlowCounters):
    """Counters that change every 90 ms."""

    def read_counter(self, uuid: str) -> int | None:
        return board_reader.time.monotonic_ns() // (90 * MS)


class Clock:
    """A clock that each look at it moves on by 1 µs."""

    def __init__(self) -> None:
        self.now_ns, self.pauses = 0, 0

    def monotonic_ns(self) -> int:
        self.now_ns += 1000
        return self.now_ns

    def sleep(self, seconds: float) -> None:
        self.now_ns += round(1e9 * seconds)
        self.pauses += 1


def test_changes_of_another_period_lie_at_several_phases_of_the_refresh(monkeypatch) -> None:
    clock = Clock()
    monkeypatch.setattr(board_reader, "time", clock)
    phase_ns = BoardReader(SlowerCounters(), UUIDS[:1]).choose_phase_ns()
    # The changes at 90, 180 and 270 ms leave the part from 90 to 170 ms free.
    assert phase_ns == pytest.approx(30 * MS, abs=3 * MS)
    # Reads without a pause would take a whole core.
    assert clock.pauses == pytest.approx(300, abs=5)


@pytest.mark.parametrize(
    ("phases", "middle"), [([], 0), ([10], 60), ([60], 10), ([20, 40], 80), ([0, 90], 45)]
)
def test_widest_gap_of_a_period_goes_around_its_end(phases: list[int], middle: int) -> None:
    assert find_widest_gap(phases, 100) == middle


def test_sampler_of_four_boards_keeps_its_interval_with_counters_as_slow_as_measured(
    tmp_path,
) -> None:
    uuids = tuple(f"SIM-H200-{n}" for n in range(4))
    settings = Settings("simulated:h200,counter-read=3.7", uuids, "node0", 100, str(tmp_path))
    with Sampler(settings) as sampler:
        time.sleep(2.5)
        sampler.stop()
    with (tmp_path / "samples.csv").open() as file:
        rows = list(csv.DictReader(file))
    by_tick = np.array([int(row["read_ns"]) for row in rows]).reshape(-1, 4)
    assert (by_tick == by_tick[:, :1]).all()
    late_ns = by_tick[:, 0] - np.array([int(row["scheduled_ns"]) for row in rows[::4]])
    # A busy machine delays single ticks, and the counters of a tick delay none.
    assert np.median(late_ns) < 2 * MS
    counter_ns = np.array([int(row["counter_ns"]) for row in rows]).reshape(-1, 4)
    assert (counter_ns > by_tick).all() and len(set(counter_ns[0].tolist())) == 4
    # The simulated counters are refreshed at multiples of 100 ms.
    assert int(rows[0]["scheduled_ns"]) % (100 * MS) == pytest.approx(50 * MS, abs=20 * MS)


def test_sampler_has_real_time_scheduling_where_it_is_granted(tmp_path) -> None:
    attempt = "import os; os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))"
    result = subprocess.run([sys.executable, "-c", attempt], check=False, capture_output=True)
    granted = result.returncode == 0
    uuids = tuple(f"SIM-H200-{n}" for n in range(4))
    settings = Settings("simulated:h200,counter-read=3.7", uuids, "node0", 100, str(tmp_path))
    with Sampler(settings) as sampler:
        time.sleep(0.5)
        assert sampler._child is not None
        # Each thread has its own policy, and those that read the counters are among them.
        tasks = Path(f"/proc/{sampler._child.process.pid}/task")
        threads = [int(task.name) for task in tasks.iterdir()]
        policies = {os.sched_getscheduler(thread) for thread in threads}
        sampler.stop()
    # The pool starts a thread only if none of its threads is idle. On a busy machine it may start
    # fewer than there are boards.
    assert len(threads) > 1
    assert policies == {os.SCHED_RR if granted else os.SCHED_OTHER}


@pytest.mark.parametrize("error", [PermissionError, AttributeError])
def test_sampler_goes_on_where_real_time_scheduling_is_refused_or_unknown(
    monkeypatch, error: type[Exception]
) -> None:
    requests = []

    def refuse(*request: object) -> None:
        requests.append(request)
        raise error

    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    raise_priority()
    assert requests == [(0, os.SCHED_RR, os.sched_param(1))]
