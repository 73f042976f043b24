"""The work on simulated accelerators."""

import asyncio
import itertools
import os
from dataclasses import replace
from types import SimpleNamespace

import pytest
from support.simulated_bench import BOARD, Bench

from harness.run.workers.load_generator import LoadGenerator
from harness.run.workers.recorder import EpochRecorder, HostClock
from harness.simulation import server as simulator
from harness.simulation import work as simulated_work
from harness.simulation.throughput_model import load_fit
from harness.simulation.work import Rate, Server, build, train, train_to_target
from rules.contract import Job, Request, RequestSet
from rules.workloads import workloads


@pytest.fixture
def boards(monkeypatch):
    """A simulator of H200s for the test; the path of its socket."""
    monkeypatch.delenv(simulator.VARIABLE, raising=False)
    with simulator.run_simulator("h200"):
        yield os.environ[simulator.VARIABLE]


class SlowClock:
    """A time module whose sleeps now and then last longer than asked for, as on a busy machine."""

    def __init__(self, late_s: float) -> None:
        self.now_s, self._late_s = 1000.0, itertools.cycle((late_s, 0.0, 0.0, 3 * late_s))

    def monotonic(self) -> float:
        self.now_s += 1e-6
        return self.now_s

    def monotonic_ns(self) -> int:
        return round(self.monotonic() * 1e9)

    def sleep(self, seconds: float) -> None:
        self.now_s += max(0.0, seconds) + next(self._late_s)

    async def sleep_async(self, seconds: float) -> None:
        self.sleep(seconds)
        await asyncio.sleep(0)


@pytest.fixture
def clock(monkeypatch):
    slow_clock = SlowClock(late_s=0.0007)
    monkeypatch.setattr(simulated_work, "time", slow_clock)
    monkeypatch.setattr("harness.run.workers.recorder.time", slow_clock)
    monkeypatch.setattr("harness.run.workers.load_generator.time", slow_clock)
    return slow_clock


def test_trainings_take_the_time_of_their_steps_and_reach_the_target(clock):
    job = Job("xception-transfer", "tuned", "smoke", 32, 5, "cpu")
    target, samples_per_s, epochs = workloads()[job.workload].smoke.target, 1000.0, []
    recorder = EpochRecorder(
        HostClock(),
        epochs=4,
        epoch_s=1.0,
        rank=0,
        agree=lambda value: value,
        on_epoch=lambda epoch, windows, losses: epochs.append((windows, recorder.trainings)),
    )
    train_to_target(recorder, lambda: samples_per_s, job, target)
    trainings = [training for _, of_epoch in epochs for training in of_epoch]
    assert len({training.seed for training in trainings}) == len(trainings) >= 4
    assert len({training.steps for training in trainings}) > 1
    for windows, of_epoch in epochs:
        for window, training in zip(windows, of_epoch, strict=True):
            assert window.items == 1 and training.accuracy >= target.accuracy
            assert training.steps % target.steps_between == 0
            expected_s = training.steps * job.batch_size / samples_per_s
            assert (window.end_ns - window.start_ns) / 1e9 == pytest.approx(expected_s, rel=0.02)


def test_batches_make_up_for_a_machine_that_is_late(clock):
    epochs = []
    recorder = EpochRecorder(
        HostClock(), 3, 1.5, 0, lambda x: x, lambda *epoch: epochs.append(epoch)
    )
    train(recorder, lambda: 2000.0, 4, seed=1)
    for _, windows, _ in epochs:
        active_s = sum(w.end_ns - w.start_ns for w in windows) / 1e9
        assert sum(w.items for w in windows) / active_s == pytest.approx(2000, rel=0.004)
    losses = [losses[-1] for _, _, losses in epochs]
    assert losses == sorted(set(losses), reverse=True)


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_server_makes_up_for_a_machine_that_is_late(clock, monkeypatch, concurrency):
    monkeypatch.setattr(
        simulated_work, "asyncio", SimpleNamespace(sleep=clock.sleep_async, Lock=asyncio.Lock)
    )
    ends, counts = [], []

    def ended(_epoch, answers):
        ends.append(answers[-1].end_ns / 1e9)
        counts.append(sum(a.output_tokens for a in answers))

    load = LoadGenerator(RequestSet(16, 8, concurrency), 512, 1, 4, 1.5, ended, lambda *_: None)
    asyncio.run(Server(lambda: 2000.0).drive(load))
    for begin_s, end_s, tokens in zip(ends, ends[1:], counts[1:], strict=False):
        assert tokens / (end_s - begin_s) == pytest.approx(2000, rel=0.005)
    assert load.tally.client_output_tokens == load.tally.server_output_tokens


def test_a_server_with_requests_in_line_does_not_wait_for_its_clients(clock, monkeypatch):
    monkeypatch.setattr(
        simulated_work, "asyncio", SimpleNamespace(sleep=clock.sleep_async, Lock=asyncio.Lock)
    )

    class TwoClients:
        async def drive(self, send, generated):
            await asyncio.gather(self._client(send), self._client(send))
            assert await generated() == 2 * 50 * 8

        async def _client(self, send):
            for _ in range(50):
                clock.now_s += 0.0005  # it thinks, while the other's request is served
                assert [p.output_tokens async for p in send(Request([1], 8))] == [1, 8]

    begin_s = clock.now_s
    asyncio.run(Server(lambda: 2000.0).drive(TwoClients()))
    assert 2 * 50 * 8 / (clock.now_s - begin_s) == pytest.approx(2000, rel=0.01)


def test_a_server_makes_up_for_a_standstill_at_no_more_than_twice_its_rate(clock, monkeypatch):
    monkeypatch.setattr(
        simulated_work, "asyncio", SimpleNamespace(sleep=clock.sleep_async, Lock=asyncio.Lock)
    )
    ends_s = []

    class Standstill:
        async def drive(self, send, generated):
            async def client():
                for _ in range(200):
                    [p async for p in send(Request([1], 8))]
                    ends_s.append(clock.now_s)
                    if len(ends_s) == 20:
                        clock.now_s += 10.0

            await asyncio.gather(client(), client())

    asyncio.run(Server(lambda: 2000.0).drive(Standstill()))
    after_s = ends_s[-1] - ends_s[21]
    assert 8 * (len(ends_s) - 22) / after_s < 2 * 2000


def test_the_rate_is_that_of_all_boards_and_follows_a_cap_that_changes(clock):
    bench = Bench("h200")
    uuids = [BOARD, "SIM-H200-1"]
    for uuid in uuids:
        bench.boards.work(uuid, "sd2-train")

    class Direct:
        def ask(self, do, **arguments):
            return bench.boards.answer(do, arguments)

    rate = Rate(Direct(), uuids)
    curve = load_fit().curves["H200", "sd2-train"]
    assert rate() == pytest.approx(2 * curve.compute_items_per_s(700))
    bench.boards.set_cap(BOARD, 300_000)
    clock.sleep(simulated_work.RATE_REFRESH_S)
    assert rate() == pytest.approx(curve.compute_items_per_s(300) + curve.compute_items_per_s(700))


def test_what_simulated_work_cannot_do_is_refused(boards, monkeypatch):
    job = Job("resnet50-train", "tuned", "smoke", 4, 1, "cpu", uuids=(BOARD,))
    requests_by_message = {
        "no figures are published of sd2-latents-train on H200": {"workload": "sd2-latents-train"},
        "takes no --option": {"options": {"a": "b"}},
        "there is no simulated board GPU-1": {"uuids": ("GPU-1",)},
    }
    for message, change in requests_by_message.items():
        with pytest.raises(ValueError, match=message):
            build(replace(job, **change))
    with monkeypatch.context() as patch:
        patch.delenv(simulator.VARIABLE)
        with pytest.raises(ValueError, match="WATTMARK_SIMULATOR is not set"):
            build(job)
