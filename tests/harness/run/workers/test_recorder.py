"""The recorder's phases and windows, on a clock that a test moves; CUDA events on a stand-in for
torch."""

import math
import sys
from itertools import pairwise
from types import SimpleNamespace

import pytest

from harness.run.workers.recorder import CudaClock, EpochRecorder, HostClock
from rules.contract import Training

MS = 1_000_000
STALL_MS = 150
"""How long a stalled batch takes."""


class SteppedClock(HostClock):
    """A host clock whose time is moved by the test."""

    now_ns = 0

    def mark(self) -> None:
        self._marks.append(self.now_ns)


def run(
    batch_ms: float,
    epoch_s: float = 1.0,
    epochs: int = 3,
    agree=lambda value: value,
    pause_ms: float = 0.001,
    stalled_batch: int | None = None,
):
    clock, taken, calibrated, phases = SteppedClock(), [], [], []
    recorder = EpochRecorder(
        clock,
        epochs,
        epoch_s,
        rank=2,
        agree=agree,
        on_epoch=lambda *epoch: taken.append(epoch),
        on_calibrated=lambda *found: calibrated.append(found),
        on_phase=lambda *phase: phases.append(phase),
    )
    count = 0
    while recorder.more():
        recorder.start()
        clock.now_ns += round(STALL_MS * MS if count == stalled_batch else batch_ms * MS)
        recorder.end(items=8, loss=float(count))
        clock.now_ns += round(pause_ms * MS)  # between batches nothing is active
        count += 1
    assert [name for name, _, _ in phases] == ["resident", "warm-up", "calibration"]
    assert all(end_ns == start_ns for (*_, end_ns), (_, start_ns, _) in pairwise(phases))
    return taken, calibrated, count


def test_every_epoch_has_the_calibrated_number_of_batches_and_lasts_as_long_as_wanted():
    taken, calibrated, _ = run(batch_ms=10)
    assert [epoch for epoch, _, _ in taken] == [0, 1, 2]
    assert calibrated[0][0] == 100
    for epoch, windows, _ in taken:
        assert len(windows) == 100
        assert windows[-1].end_ns - windows[0].start_ns >= 0.999e9
        assert [w.batch for w in windows] == list(range(100))
        assert {(w.epoch, w.rank, w.items) for w in windows} == {(epoch, 2, 8)}
        assert {w.end_ns - w.start_ns for w in windows} == {10 * MS}


def test_every_batch_of_an_epoch_has_its_loss():
    taken, _, count = run(batch_ms=10)
    assert [losses[0] for _, _, losses in taken] == [count - 300, count - 200, count - 100]
    assert all(losses == [losses[0] + n for n in range(100)] for _, _, losses in taken)


def test_an_epoch_has_the_trainings_of_its_batches():
    clock, taken = SteppedClock(), []
    recorder = EpochRecorder(
        clock,
        epochs=3,
        epoch_s=1.0,
        rank=0,
        agree=lambda value: value,
        on_epoch=lambda epoch, windows, losses: taken.append((windows, recorder.trainings)),
    )
    trainings = []
    while recorder.more():
        recorder.start()
        clock.now_ns += 500 * MS
        trainings.append(Training(len(trainings), 10, 0.9))
        recorder.end(1, training=trainings[-1])
    assert [len(windows) for windows, _ in taken] == [2, 2, 2]
    assert [training for _, of_epoch in taken for training in of_epoch] == trainings[-6:]


def test_calibration_goes_on_until_it_has_seen_a_fifth_of_an_epoch():
    _, calibrated, count = run(batch_ms=1, epochs=0)
    assert calibrated[0][1] == pytest.approx(1e-3, rel=0.01)
    assert count == 3 + 4 + 8 + 16 + 32 + 64 + 128 + 256


def test_a_batch_that_stalls_does_not_shorten_the_epochs():
    taken, calibrated, _ = run(batch_ms=1, epoch_s=0.3, stalled_batch=5)  # of the first calibration
    assert calibrated == [(300, pytest.approx(1e-3))]
    assert [len(windows) for _, windows, _ in taken] == [300, 300, 300]


def test_a_batch_longer_than_an_epoch_is_one_epoch():
    taken, _, _ = run(batch_ms=2500)
    assert [len(windows) for _, windows, _ in taken] == [1, 1, 1]


def test_ranks_take_as_many_batches_as_the_fastest_needs():
    _, calibrated, _ = run(batch_ms=10, agree=lambda value: max(value, 130) if value > 1 else value)
    assert calibrated[0][0] == 130


def test_an_epoch_has_the_wanted_active_time_whatever_lies_between_batches():
    taken, _, _ = run(batch_ms=9, pause_ms=1)
    active = sum(w.end_ns - w.start_ns for w in taken[0][1]) / 1e9
    assert active == pytest.approx(1.0, rel=0.01)


class FakeCuda:
    """A GPU whose clock runs 100 ppm fast and started elsewhere; `synchronize` counts the waits."""

    def __init__(self) -> None:
        self.host_ns, self.waits = 1_000_000_000_000, 0
        cuda = self

        class Event:
            def __init__(self, enable_timing: bool) -> None:
                assert enable_timing

            def record(self) -> None:
                self.device_ns = cuda.host_ns * 1.0001 + 77e9

            def synchronize(self) -> None:
                cuda.waits += 1

            def elapsed_time(self, other: "Event") -> float:
                return (other.device_ns - self.device_ns) / 1e6

        self.Event = Event

    def synchronize(self) -> None:
        self.waits += 1


def test_device_events_land_on_the_hosts_clock_without_waiting_inside_an_epoch(monkeypatch):
    cuda = FakeCuda()
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    monkeypatch.setattr("harness.run.workers.recorder.time.monotonic_ns", lambda: cuda.host_ns)
    clock = CudaClock()
    for _ in range(2):  # the second epoch reuses the events of the first
        clock.open()
        waits, truth = cuda.waits, []
        for _ in range(300):
            cuda.host_ns += 100 * MS
            clock.mark()
            truth.append(cuda.host_ns)
        assert cuda.waits == waits
        found = clock.close()
        assert max(abs(a - b) for a, b in zip(found, truth, strict=True)) < 2000
    assert len(clock._pool) == 302


def test_batches_that_overlap_or_never_began_are_refused():
    recorder = EpochRecorder(SteppedClock(), 1, 1.0, 0, lambda v: v, lambda *epoch: None)
    assert recorder.more()
    with pytest.raises(RuntimeError, match="ended that was not started"):
        recorder.end(1, 0.0)
    recorder.start()
    with pytest.raises(RuntimeError, match="started before the last one was ended"):
        recorder.start()


def test_a_batch_without_items_is_refused():
    recorder = EpochRecorder(SteppedClock(), 1, 1.0, 0, lambda v: v, lambda *epoch: None)
    assert recorder.more()
    recorder.start()
    with pytest.raises(ValueError, match="with 0 items"):
        recorder.end(0, 0.0)


def test_an_epoch_of_a_broken_number_of_batches_is_rounded_up():
    """33 batches of 30 ms would be 0.99 s: shorter than the protocol asks for."""
    taken, calibrated, _ = run(batch_ms=30)
    assert calibrated[0][0] == 34 and [len(windows) for _, windows, _ in taken] == [34, 34, 34]


class BusyCuda(FakeCuda):
    """A GPU that has still work to do: 40 ms on the stream of the clock and 90 ms on another one.

    An event is reached when its stream has done its work; whoever waits for it waits that long.
    """

    OWN_MS, OTHER_MS = 40, 90

    def __init__(self) -> None:
        super().__init__()
        cuda = self
        self.own_ns = self.host_ns + self.OWN_MS * MS
        self.other_ns = self.host_ns + self.OTHER_MS * MS

        class Event(self.Event):
            def record(self) -> None:
                self.reached_ns = max(cuda.host_ns, cuda.own_ns)
                self.device_ns = self.reached_ns * 1.0001 + 77e9

            def synchronize(self) -> None:
                super().synchronize()
                cuda.host_ns = max(cuda.host_ns, self.reached_ns)

        self.Event = Event

    def synchronize(self) -> None:
        super().synchronize()
        self.host_ns = max(self.host_ns, self.own_ns, self.other_ns)


def test_a_timeline_begins_when_the_device_has_done_all_earlier_work(monkeypatch):
    cuda = BusyCuda()
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    monkeypatch.setattr("harness.run.workers.recorder.time.monotonic_ns", lambda: cuda.host_ns)
    CudaClock().open()
    assert cuda.host_ns == cuda.other_ns


def test_the_last_batch_ends_when_the_device_has_done_it(monkeypatch):
    """The host only asks for the batch; the device is busy with it for 40 ms more."""
    cuda = BusyCuda()
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    monkeypatch.setattr("harness.run.workers.recorder.time.monotonic_ns", lambda: cuda.host_ns)
    clock = CudaClock()
    clock.open()
    clock.mark()
    began_ns, cuda.own_ns = cuda.host_ns, cuda.host_ns + cuda.OWN_MS * MS
    clock.mark()
    start_ns, end_ns = clock.close()
    assert abs(start_ns - began_ns) < 2000
    assert abs(end_ns - cuda.own_ns) < 2000


def test_a_loss_that_is_not_a_number_is_handed_on():
    clock, losses = SteppedClock(), []
    recorder = EpochRecorder(
        clock, 1, 0.01, 0, lambda v: v, lambda epoch, windows, found: losses.extend(found)
    )
    while recorder.more():
        recorder.start()
        clock.now_ns += 5 * MS
        recorder.end(1, float("nan"))
    assert math.isnan(losses[0])
