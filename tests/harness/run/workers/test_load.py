"""The load generator against a stand-in server, on an event loop whose clock jumps to whatever
happens next."""

import asyncio
import selectors
import statistics
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from harness.run.workers import load_generator
from harness.run.workers.load_generator import Answer, LoadError, LoadGenerator, RequestTally
from rules.contract import Progress, Request, RequestSet
from rules.request_lengths import compute_output_tokens, compute_prompt_tokens

PREFILL_S = 0.02
TOKEN_S = 0.01
LIFETIME_S = PREFILL_S + 100 * TOKEN_S
CLOSED_LOOP = RequestSet(prompt_tokens=32, output_tokens=100, concurrency=64)


class Leap(selectors.DefaultSelector):
    """Never waits: time leaps to the next thing that is due."""

    now_s = 1000.0

    def select(self, timeout: float | None = None) -> list:
        self.now_s += timeout or 0.0
        return super().select(0)


class LeapingLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self.leap = Leap()
        super().__init__(self.leap)

    def time(self) -> float:
        return self.leap.now_s


class Server:
    """Takes PREFILL_S for a prompt and TOKEN_S for a token, and notes what it is asked."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.starts_s: list[float] = []
        self.in_flight = self.most_in_flight = self.generated = 0

    async def send(self, request: Request) -> AsyncIterator[Progress]:
        self.requests.append(request)
        self.starts_s.append(asyncio.get_running_loop().time())
        self.in_flight += 1
        self.most_in_flight = max(self.in_flight, self.most_in_flight)
        await asyncio.sleep(PREFILL_S)
        yield Progress(len(request.prompt), 1)
        await asyncio.sleep(TOKEN_S * request.output_tokens)
        self.generated += request.output_tokens
        yield Progress(len(request.prompt), request.output_tokens)
        self.in_flight -= 1

    async def count(self) -> int:
        return 7 + self.generated  # it served before


def drive(load: LoadGenerator, server: Server) -> None:
    with asyncio.Runner(loop_factory=LeapingLoop) as runner, pytest.MonkeyPatch.context() as patch:
        loop = runner.get_loop()
        patch.setattr(load_generator.time, "monotonic_ns", lambda: round(loop.time() * 1e9))
        runner.run(load.drive(server.send, server.count))


class Outcome:
    def __init__(
        self,
        server: Server,
        requests: RequestSet,
        seed: int = 1,
        epochs: int = 3,
        epoch_s: float = 10.0,
    ) -> None:
        self.epochs: list[tuple[int, list[Answer]]] = []
        self.calibrated: list[tuple[int, float]] = []
        self.load = LoadGenerator(
            requests,
            512,
            seed,
            epochs,
            epoch_s,
            lambda *epoch: self.epochs.append(epoch),
            lambda *c: self.calibrated.append(c),
        )
        drive(self.load, server)

    @property
    def answers(self) -> list[Answer]:
        return [answer for _, answers in self.epochs for answer in answers]


def spans_s(outcome: Outcome) -> list[float]:
    """Length of each epoch but the first, from the end of the one before."""
    ends = [answers[-1].end_ns for _, answers in outcome.epochs]
    return [(b - a) / 1e9 for a, b in pairwise(ends)]


@pytest.fixture(scope="module")
def closed() -> tuple[Server, Outcome]:
    server = Server()
    return server, Outcome(server, CLOSED_LOOP)


def test_every_epoch_has_the_calibrated_number_of_requests_and_the_wanted_length(closed):
    _, outcome = closed
    [(per_epoch, request_s)] = outcome.calibrated
    assert request_s == pytest.approx(LIFETIME_S / 64, rel=0.02)
    assert per_epoch == pytest.approx(10.0 / request_s, abs=1)
    assert [epoch for epoch, _ in outcome.epochs] == [0, 1, 2]
    for epoch, answers in outcome.epochs:
        assert len(answers) == per_epoch
        assert {(a.epoch, a.prompt_tokens, a.output_tokens) for a in answers} == {(epoch, 32, 100)}
    assert spans_s(outcome) == pytest.approx([10.0, 10.0], rel=0.02)


class UnevenServer(Server):
    """Ends the first requests ever more slowly. The requests that replace them keep this pattern,
    so the rate of completions falls over each cycle."""

    def __init__(self, concurrency: int) -> None:
        super().__init__()
        self.concurrency = concurrency

    async def send(self, request: Request) -> AsyncIterator[Progress]:
        number = len(self.requests)
        async for progress in super().send(request):
            if progress.output_tokens == request.output_tokens and number < self.concurrency:
                await asyncio.sleep(TOKEN_S * request.output_tokens * number / self.concurrency)
            yield progress


def test_calibration_counts_whole_cycles_of_requests_in_flight() -> None:
    """A server had epochs of 29.6 s in place of 31.5 s on an H200: calibration had seen a quarter
    of the 512 requests in flight, at a rate that was 6 % lower."""
    requests = RequestSet(prompt_tokens=32, output_tokens=1000, concurrency=256)
    outcome = Outcome(UnevenServer(256), requests)
    [(_, request_s)] = outcome.calibrated
    assert request_s == pytest.approx((PREFILL_S + 1000 * TOKEN_S) / 256, rel=0.01)


def test_epochs_follow_each_other_without_draining_the_server(closed):
    _, outcome = closed
    ordered = [a.end_ns for a in outcome.answers]
    assert ordered == sorted(ordered)
    numbers = {a.request for a in outcome.answers}
    assert len(numbers) == len(ordered)
    last = outcome.epochs[0][1][-1].end_ns
    assert (
        sum(a.sent_ns < last for a in outcome.epochs[1][1]) >= 60
    )  # were under way when the epoch began


def test_as_many_requests_are_in_flight_as_wanted_and_never_more(closed):
    server, outcome = closed
    assert server.most_in_flight == 64
    epoch_answers = outcome.epochs[1][1]
    for answer in epoch_answers[:: len(epoch_answers) // 7]:
        at = answer.end_ns - 1
        assert sum(a.sent_ns <= at < a.end_ns for a in outcome.answers) == 64
    assert server.in_flight == 0


def test_completions_are_spread_over_a_lifetime_not_in_step(closed):
    _, outcome = closed
    together = Counter(a.end_ns for a in outcome.epochs[1][1])
    assert max(together.values()) <= 4  # of 64 in flight
    gaps_s = [(b - a) / 1e9 for a, b in pairwise(sorted(together))]
    assert max(gaps_s) < LIFETIME_S / 8


def test_times_of_an_answer_are_those_of_its_first_token_and_its_end(closed):
    _, outcome = closed
    for answer in outcome.answers:
        assert (answer.first_ns - answer.sent_ns) / 1e9 == pytest.approx(PREFILL_S)
        assert (answer.end_ns - answer.sent_ns) / 1e9 == pytest.approx(LIFETIME_S)


def test_prompts_all_differ_and_follow_from_the_seed(closed):
    server, _ = closed
    prompts = {tuple(r.prompt) for r in server.requests}
    assert len(prompts) == len(server.requests)
    assert {len(p) for p in prompts} == {32}
    tokens = {token for p in prompts for token in p}
    assert min(tokens) == 10 and max(tokens) == 511
    same_seed, other_seed = Server(), Server()
    Outcome(same_seed, CLOSED_LOOP, epochs=0)
    Outcome(other_seed, CLOSED_LOOP, seed=2, epochs=0)
    assert same_seed.requests[:200] == server.requests[:200]
    assert not prompts & {tuple(r.prompt) for r in other_seed.requests}


@pytest.mark.parametrize("seed", range(1, 9))
def test_no_epoch_of_uniform_lengths_is_too_short(seed):
    """A short calibration sees too few requests to tell their mean: without the margin, a run of
    the workload on an H200 had epochs of 29.1 to 31.0 s."""
    outcome = Outcome(Server(), replace(CLOSED_LOOP, uniform=True), seed=seed, epochs=11)
    lengths_s = spans_s(outcome)
    assert min(lengths_s) >= 10.0
    assert max(lengths_s) < 14.0


def test_uniform_lengths_follow_from_the_seed_and_fill_the_range():
    """The request set of Mayr et al. in small: lengths from 1 up, whose means are half of the
    largest, and which the rules compute again."""
    requests = replace(CLOSED_LOOP, uniform=True)
    server = Server()
    outcome = Outcome(server, requests, seed=3)
    numbers = np.array([a.request for a in outcome.answers])
    for name, longest, compute in (
        ("prompt_tokens", requests.prompt_tokens, compute_prompt_tokens),
        ("output_tokens", requests.output_tokens, compute_output_tokens),
    ):
        lengths = np.array([getattr(answer, name) for answer in outcome.answers])
        assert (lengths == compute(requests, 3, numbers)).all()
        assert (lengths != compute(requests, 4, numbers)).any()
        assert 1 <= lengths.min() < lengths.max() <= longest
        many = compute(requests, 3, np.arange(100_000))
        assert many.min() == 1 and many.max() == longest
        assert many.mean() == pytest.approx((longest + 1) / 2, rel=0.01)
    numbers = np.arange(10_000)
    prompts = compute_prompt_tokens(requests, 3, numbers)
    outputs = compute_output_tokens(requests, 3, numbers)
    assert abs(np.corrcoef(prompts, outputs)[0, 1]) < 0.05


def test_first_requests_are_staggered_and_outside_the_epochs(closed):
    server, outcome = closed
    lengths = [r.output_tokens for r in server.requests]
    assert lengths[:5] == [7, 7, 7, 7, 13] and lengths[60:64] == [100] * 4
    assert set(lengths[64:]) == {100}
    assert min(a.request for a in outcome.answers) >= 64


def test_a_single_request_in_flight_is_a_closed_loop_too():
    server = Server()
    outcome = Outcome(server, RequestSet(8, 10, concurrency=1), epochs=2, epoch_s=2.3)
    assert outcome.calibrated == [(20, pytest.approx(PREFILL_S + 10 * TOKEN_S))]
    assert server.most_in_flight == 1


def test_tally_covers_all_that_was_sent_and_agrees_with_the_server(closed):
    server, outcome = closed
    assert outcome.load.tally == RequestTally(
        requests=len(server.requests),
        client_output_tokens=server.generated,
        server_output_tokens=server.generated,
    )
    assert server.generated == sum(r.output_tokens for r in server.requests)


def test_a_server_that_counts_less_than_it_sent_shows_in_the_tally():
    class Modest(Server):
        async def count(self) -> int:
            return self.generated // 2

    server = Modest()
    tally = Outcome(server, CLOSED_LOOP, epochs=1).load.tally
    assert tally.client_output_tokens == server.generated
    assert tally.server_output_tokens == server.generated // 2


def test_a_trial_takes_no_epoch_and_drains():
    server = Server()
    outcome = Outcome(server, CLOSED_LOOP, epochs=0)
    assert len(outcome.calibrated) == 1 and outcome.epochs == []
    assert server.in_flight == 0
    assert outcome.load.tally.requests == len(server.requests)


def test_requests_arrive_as_a_poisson_process():
    server = Server()
    requests = RequestSet(prompt_tokens=8, output_tokens=10, concurrency=200, rate_per_s=20.0)
    Outcome(server, requests, epoch_s=100.0)
    gaps_s = [b - a for a, b in pairwise(server.starts_s)]
    assert len(gaps_s) > 6000
    assert statistics.fmean(gaps_s) == pytest.approx(1 / 20, rel=0.06)  # 5 standard errors
    assert statistics.stdev(gaps_s) == pytest.approx(1 / 20, rel=0.1)
    assert server.most_in_flight < 30
    assert {r.output_tokens for r in server.requests} == {10}


def test_an_epoch_of_random_arrivals_is_not_made_short_by_chance():
    outcome = Outcome(
        Server(), RequestSet(8, 10, concurrency=200, rate_per_s=20.0), epoch_s=100.0, epochs=6
    )
    assert outcome.calibrated[0][0] == 2135  # 2 000 and three standard deviations
    assert min(spans_s(outcome)) > 100.0


def test_arrivals_wait_where_the_limit_is_in_flight():
    server = Server()
    outcome = Outcome(server, RequestSet(8, 10, concurrency=4, rate_per_s=50.0), epoch_s=5.0)
    assert server.most_in_flight == 4
    assert server.starts_s[-1] > 1.3 * len(server.requests) / 50.0  # 33 a second can be served
    assert all(len(answers) == outcome.calibrated[0][0] for _, answers in outcome.epochs)


def make_faulty_server(number: int, fault: Callable[[Request], AsyncIterator[Progress]]) -> Server:
    """A server that answers its request of that number as `spoil` does."""

    class FaultyServer(Server):
        async def send(self, request: Request) -> AsyncIterator[Progress]:
            answer = fault if len(self.requests) == number else super().send
            if answer is fault:
                self.requests.append(request)
            async for progress in answer(request):
                yield progress

    return FaultyServer()


async def refuse(request: Request) -> AsyncIterator[Progress]:
    yield Progress(len(request.prompt), 1)
    raise ConnectionResetError("server went away")


async def stop_short(request: Request) -> AsyncIterator[Progress]:
    yield Progress(len(request.prompt), 99)


async def cut_prompt(request: Request) -> AsyncIterator[Progress]:
    yield Progress(16, request.output_tokens)


async def say_nothing(request: Request) -> AsyncIterator[Progress]:
    return
    yield


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (
            refuse,
            r"request 150, 32 prompt tokens in and 100 out, failed: "
            r"ConnectionResetError: server went away",
        ),
        (
            stop_short,
            r"request 150 was for 32 prompt tokens in and 100 out, "
            r"but the server reported 32 in and 99 out",
        ),
        (cut_prompt, r"but the server reported 16 in and 100 out"),
        (say_nothing, r"but the server reported 0 in and 0 out"),
    ],
)
def test_an_answer_that_is_not_what_was_asked_for_ends_the_run(fault, message):
    server = make_faulty_server(150, fault)
    with pytest.raises(LoadError, match=message):
        Outcome(server, CLOSED_LOOP)


def test_a_server_that_hangs_ends_the_run():
    class Hanging(Server):
        async def send(self, request: Request) -> AsyncIterator[Progress]:
            if len(self.requests) > 200:
                await asyncio.Event().wait()
            async for progress in super().send(request):
                yield progress

    with pytest.raises(
        LoadError,
        match=r"no request was completed for 300 s: 64 are in flight, 201 were completed before",
    ):
        Outcome(Hanging(), CLOSED_LOOP)


def test_an_epoch_is_written_down_after_the_next_requests_are_sent():
    server = Server()
    in_flight: list[int] = []
    drive(
        LoadGenerator(
            CLOSED_LOOP,
            512,
            1,
            3,
            2.0,
            lambda *epoch: in_flight.append(server.in_flight),
            lambda *calibrated: None,
        ),
        server,
    )
    assert in_flight[:2] == [64, 64] and in_flight[2] <= 64


def test_what_the_receiver_of_an_epoch_raises_goes_through():
    def full(epoch: int, answers: list[Answer]) -> None:
        raise OSError("no space left on device")

    with pytest.raises(OSError, match="no space left"):
        drive(LoadGenerator(CLOSED_LOOP, 512, 1, 3, 1.0, full, lambda *calibrated: None), Server())


def test_no_request_is_sent_in_the_idle_phase_and_the_other_phases_follow_it():
    server, phases, answers = Server(), [], []
    load = LoadGenerator(
        CLOSED_LOOP,
        512,
        1,
        2,
        10.0,
        lambda epoch, ended: answers.extend(ended),
        lambda *calibrated: None,
        idle_s=30.0,
        on_phase=lambda *phase: phases.append(phase),
    )
    drive(load, server)
    assert [name for name, _, _ in phases] == ["resident", "warm-up", "calibration"]
    (_, start_ns, resident_end_ns), (_, warm_up_ns, _), (_, _, calibrated_ns) = phases
    assert (resident_end_ns - start_ns) / 1e9 == pytest.approx(30.0)
    assert warm_up_ns == resident_end_ns
    assert min(answer.sent_ns for answer in answers) >= resident_end_ns
    assert min(answer.end_ns for answer in answers) >= calibrated_ns
