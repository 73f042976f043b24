"""The load generator: sends the requests of a run to a server and times them (see
`rules.contract.Load`).

In a closed loop a fixed number of requests is in flight and each answer is followed by the next
request. Requests that start together would stay in step for ever, since all have the same length:
everything is prefilled, then everything is decoded, and an epoch's content depends on where in this
wave it falls. So the first requests ask for outputs of staggered lengths, and from then on
completions are spread evenly. At a rate, requests arrive as a Poisson process.

Warm-up lasts until every request that was sent before the first completion has ended. Then the rate
of completions is measured, which gives the number of requests that make an epoch. Epochs follow
each other without a pause: a request belongs, whole, to the epoch in which it is completed. In the
steady state as much work is carried in as out.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from statistics import linear_regression

import numpy as np

from rules.contract import Progress, Request, RequestSet, Send

FIRST_ORDINARY_TOKEN = 10
"""Prompts leave out the ids below, where some vocabularies keep their special tokens."""
STAGGER_GROUP = 8
"""At most as many of the first requests share a length, so that the prefills which follow share a
chunk."""
LEAST_STAGGER_GROUPS = 16
CALIBRATION_SHARE = 0.2  # of an epoch, at least
CALIBRATION_REQUESTS = (
    64  # at least, or one per request in flight where those are fewer, but never less than the next
)
LEAST_CALIBRATION_REQUESTS = 8
POISSON_MARGIN_SIGMA = 3.0
HAND_OVER_DELAY_S = 0.05
STALL_S = 300.0
NO_EPOCH = -1


class LoadError(Exception):
    """The server did not answer as requested. The message names the request, what was requested and
    what was received."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One completed request. Times are `time.monotonic_ns`; the first is that of the first
    generated token."""

    epoch: int
    request: int
    """Number within the run, in order of sending."""
    sent_ns: int
    first_ns: int
    end_ns: int
    prompt_tokens: int
    output_tokens: int


class LoadGenerator:
    """Drives one server through warm-up, calibration and `epochs` epochs of about `epoch_s`
    seconds.

    Prompts are random token ids below `vocabulary`; they and the gaps of a Poisson process follow
    from `seed`. `on_calibrated` is given the requests per epoch and the measured seconds per
    completed request, `on_epoch` each epoch's number and answers in order of completion. With no
    epochs it ends after the calibration. `tally` counts, once `drive` has returned, everything that
    was sent in the run.
    """

    def __init__(
        self,
        requests: RequestSet,
        vocabulary: int,
        seed: int,
        epochs: int,
        epoch_s: float,
        on_epoch: Callable[[int, list[Answer]], None],
        on_calibrated: Callable[[int, float], None],
    ) -> None:
        self.tally: dict[str, int] = {}
        self._requests, self._vocabulary, self._seed = requests, vocabulary, seed
        self._epochs, self._epoch_s = epochs, epoch_s
        self._on_epoch, self._on_calibrated = on_epoch, on_calibrated
        self._sent = self._completed = self._output_tokens = 0
        self._epoch = NO_EPOCH
        self._enough = False
        self._phases = self._plan()
        next(self._phases)

    async def drive(self, send: Send, generated: Callable[[], Awaitable[int]]) -> None:
        """Send requests until the last epoch is complete and none is in flight.

        Raises LoadError where a request fails, where an answer has other token counts than asked
        for, and where none is completed for `STALL_S` seconds. Whatever `generated` and the two
        callbacks raise goes through.
        """
        # The server counts from its start. The difference is compared with what the client
        # received.
        before = await generated()
        await self._until_enough(send)
        after = await generated()
        tokens = {
            "client_output_tokens": self._output_tokens,
            "server_output_tokens": after - before,
        }
        self.tally = {"requests": self._completed, **tokens}

    async def _until_enough(self, send: Send) -> None:
        """Send and await requests. A time limit or the first failure ends them all."""
        try:
            async with (
                asyncio.timeout(STALL_S) as self._patience,
                asyncio.TaskGroup() as self._group,
            ):
                self._group.create_task(self._send_all(send))
            return
        except TimeoutError:
            open_requests = self._sent - self._completed
            failure: BaseException = LoadError(
                f"no request was completed for {STALL_S:.0f} s: {open_requests} are in "
                f"flight, {self._completed} were completed "
                "before; the server's log may say why"
            )
        except BaseExceptionGroup as failed:
            # The task group cancelled the other requests because of the first failure.
            failure = failed.exceptions[0]
        # Outside the `except` block, so that the group does not become the context of the failure.
        raise failure

    async def _send_all(self, send: Send) -> None:
        """Start each request when it is due and a place is free: at once in a closed loop, else
        when it arrives."""
        rate_per_s = self._requests.rate_per_s
        free = asyncio.Semaphore(self._requests.concurrency)
        random = np.random.default_rng(self._seed)
        now_s = asyncio.get_running_loop().time
        due_s = now_s()
        while True:
            if rate_per_s is not None:
                due_s += random.exponential(1 / rate_per_s)
                if self._sent == self._completed:
                    # No request is in flight, so this wait says nothing about the server.
                    self._patience.reschedule(max(due_s, now_s()) + STALL_S)
                # Absolute times: a late wake-up delays one request and not all that follow.
                await asyncio.sleep(due_s - now_s())
            # Also at a rate, at most `concurrency` requests are in flight, as the request set
            # declares.
            await free.acquire()
            if self._enough:
                return
            task = self._group.create_task(self._ask(send, self._sent))
            # A callback also runs for a failed request, so that no place is lost.
            task.add_done_callback(lambda _: free.release())
            self._sent += 1

    async def _ask(self, send: Send, number: int) -> None:
        """Send one request, follow it to its end, and hand its answer to the phase that the run is
        in."""
        request = self._request(number)
        lengths = f"{len(request.prompt)} prompt tokens in and {request.output_tokens} out"
        sent_ns = time.monotonic_ns()
        first_ns = None
        progress = Progress(prompt_tokens=0, output_tokens=0)
        try:
            async for progress in send(request):
                if first_ns is None and progress.output_tokens > 0:
                    first_ns = time.monotonic_ns()
        except Exception as error:
            raise LoadError(
                f"request {number}, {lengths}, failed: {type(error).__name__}: {error}"
            ) from error
        end_ns = time.monotonic_ns()
        # A server may stop early at an end-of-text token or cut a long prompt. Less work would look
        # like more throughput.
        if first_ns is None or (progress.prompt_tokens, progress.output_tokens) != (
            len(request.prompt),
            request.output_tokens,
        ):
            counts = f"{progress.prompt_tokens} in and {progress.output_tokens} out"
            raise LoadError(
                f"request {number} was for {lengths}, but the server answered for {counts}"
            )
        self._completed += 1
        self._output_tokens += progress.output_tokens
        self._patience.reschedule(asyncio.get_running_loop().time() + STALL_S)
        self._phases.send(
            Answer(
                self._epoch,
                number,
                sent_ns,
                first_ns,
                end_ns,
                progress.prompt_tokens,
                progress.output_tokens,
            )
        )

    def _request(self, number: int) -> Request:
        """The request of that number. Its prompt follows from the seed and the number alone."""
        # Seeded by number, because the order in which requests are built depends on timing.
        random = np.random.default_rng([self._seed, number])
        prompt = random.integers(
            FIRST_ORDINARY_TOKEN, self._vocabulary, self._requests.prompt_tokens
        )
        return Request(prompt.tolist(), self._output_tokens_of(number))

    def _output_tokens_of(self, number: int) -> int:
        """Output length of a request: the full one but for the first of a closed loop, which are
        staggered up to it."""
        full, concurrency = self._requests.output_tokens, self._requests.concurrency
        if self._requests.rate_per_s is not None or number >= concurrency:
            return full
        # With few requests in flight, smaller groups still give enough different lengths.
        group = max(1, min(STAGGER_GROUP, concurrency // LEAST_STAGGER_GROUPS))
        groups = math.ceil(concurrency / group)
        return math.ceil(full * (number // group + 1) / groups)

    def _plan(self) -> Generator[None, Answer, None]:
        """The phases of a run. Receives each answer when it is complete."""
        first = yield
        # Warm-up: the requests that started together must end before completions are evenly spread.
        opening = set(range(self._sent)) - {first.request}
        while opening:
            opening.discard((yield).request)
        ends_s: list[float] = []
        least = max(
            LEAST_CALIBRATION_REQUESTS, min(CALIBRATION_REQUESTS, self._requests.concurrency)
        )
        while len(ends_s) < least or ends_s[-1] - ends_s[0] < self._epoch_s * CALIBRATION_SHARE:
            ends_s.append((yield).end_ns / 1e9)
        # Completions come in bursts. Their number depends on where in a burst the time begins and
        # ends. The slope of a regression hardly does.
        measured_per_s = linear_regression(ends_s, range(len(ends_s))).slope
        per_epoch = self._per_epoch(measured_per_s)
        self._on_calibrated(per_epoch, 1 / measured_per_s)
        for epoch in range(self._epochs):
            self._epoch = epoch
            answers: list[Answer] = []
            while len(answers) < per_epoch:
                answers.append((yield))
            # As a task, because writing here would delay the next request.
            self._group.create_task(self._hand_over(epoch, answers))
        # Requests that are still in flight end normally. They belong to no epoch, but the tally
        # counts them.
        self._enough = True
        self._epoch = NO_EPOCH
        while True:
            yield

    def _per_epoch(self, measured_per_s: float) -> int:
        """Completed requests per epoch, so that it lasts `epoch_s`."""
        if self._requests.rate_per_s is None:
            return math.ceil(self._epoch_s * measured_per_s)
        # The declared rate of random arrivals is more precise than a measured one. The margin keeps
        # the epoch from being too short by chance.
        expected = self._epoch_s * self._requests.rate_per_s
        return math.ceil(expected + POISSON_MARGIN_SIGMA * math.sqrt(expected))

    async def _hand_over(self, epoch: int, answers: list[Answer]) -> None:
        """Record an epoch. Waits until the requests that follow its last answers are sent."""
        await asyncio.sleep(HAND_OVER_DELAY_S)
        self._on_epoch(epoch, answers)
