"""The load generator: sends the requests of a run to a server and times them (see
`rules.contract.Load`).

In a closed loop a fixed number of requests is in flight, and each completed request is replaced by
the next one. All requests have the same length, so requests that start together would stay
synchronised: the server would prefill all of them, then decode all of them, and the throughput of
an epoch would depend on the phase at which it begins. Therefore the first requests ask for outputs
of staggered lengths, which spreads all later completions evenly. With an arrival rate, requests
arrive as a Poisson process.

Warm-up lasts until every request that was sent before the first completion has ended. Calibration
then measures the rate of completions over whole cycles of the requests in flight and derives the
number of requests per epoch. Epochs follow each other without a pause. A request counts in full for
the epoch in which it is completed. In the steady state, the work that an epoch takes over from the
epoch before equals the work that it leaves to the next.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass

import numpy as np

from rules.contract import Progress, Request, RequestSet, Send
from rules.request_lengths import compute_output_tokens, compute_prompt_tokens

FIRST_ORDINARY_TOKEN = 10
"""Prompts leave out the ids below, where some vocabularies keep their special tokens."""
STAGGER_GROUP = 8
"""Largest number of first requests that share a length. The server can prefill the requests that
follow them together."""
MIN_STAGGER_GROUPS = 16
CALIBRATION_SHARE = 0.2
"""Calibration lasts at least this share of an epoch."""
CALIBRATION_REQUESTS = 64
"""With random arrivals, calibration also needs this many completions, or one for each request that
may be in flight if these are fewer."""
MIN_CALIBRATION_REQUESTS = 8
"""Calibration needs at least this many completions."""
MARGIN_SIGMA = 3.0
"""By how many standard deviations a mean epoch of random arrivals or lengths is longer than asked
for."""
UNIFORM_VARIATION = 3**-0.5
"""Standard deviation over mean of lengths that are uniform from 1 up. The time that the server has
for a request varies as much: on an H200 the rate over 6.3 s (316 requests) varied by 3.4 %, over
31.5 s by 1.6 %."""
HAND_OVER_DELAY_S = 0.05
STALL_S = 300.0
NO_EPOCH = -1
"""The epoch of answers from before the first and after the last epoch."""


class LoadError(Exception):
    """The server did not answer as requested. The message names the request, what was requested and
    what was received."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One completed request. Times are those of `time.monotonic_ns`."""

    epoch: int
    request: int
    """Number within the run, in order of sending."""
    sent_ns: int
    first_ns: int
    """Time of the first generated token."""
    end_ns: int
    prompt_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class RequestTally:
    """The requests of a whole run, and their output tokens as client and server counted them."""

    requests: int
    client_output_tokens: int
    server_output_tokens: int


class LoadGenerator:
    """Drives one server through warm-up, calibration and `epochs` epochs of about `epoch_s`
    seconds.

    Prompts are random token ids below `vocabulary`. The seed determines the prompts and the gaps of
    the Poisson process. `on_calibrated` gets the requests per epoch and the measured seconds per
    completed request. `on_epoch` gets the number of each epoch and its answers in order of
    completion. With no epochs the run ends after the calibration. `idle_s` is the time without
    requests before the first one. `on_phase` gets the name, start and end of each phase before the
    first epoch. `tally` counts all requests of the run. It is None until `drive` has returned.
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
        idle_s: float = 0.0,
        on_phase: Callable[[str, int, int], None] = lambda phase, start_ns, end_ns: None,
    ) -> None:
        self.tally: RequestTally | None = None
        self._requests, self._vocabulary, self._seed = requests, vocabulary, seed
        self._epochs, self._epoch_s = epochs, epoch_s
        self._on_epoch, self._on_calibrated = on_epoch, on_calibrated
        self._idle_s, self._on_phase = idle_s, on_phase
        self._phase_start_ns = 0
        self._sent = self._completed = self._output_tokens = 0
        self._epoch = NO_EPOCH
        self._is_complete = False
        self._phases = self._run_phases()
        next(self._phases)

    async def drive(self, send: Send, generated: Callable[[], Awaitable[int]]) -> None:
        """Send requests until the last epoch is complete and none is in flight.

        `generated` returns the number of tokens that the server has generated since it started.

        Raises LoadError if a request fails, if an answer has other token counts than requested, or
        if no request is completed for `STALL_S` seconds. Errors of `generated` and of the two
        callbacks are raised unchanged.
        """
        # The server counts from its start, so the run has the difference.
        tokens_before = await generated()
        # The server has answered, so it is up, and it has no request.
        self._phase_start_ns = time.monotonic_ns()
        await asyncio.sleep(self._idle_s)
        self._end_phase("resident")
        await self._send_until_complete(send)
        tokens_after = await generated()
        self.tally = RequestTally(
            self._completed, self._output_tokens, tokens_after - tokens_before
        )

    async def _send_until_complete(self, send: Send) -> None:
        """Send and await requests. A time limit or the first failure cancels all of them."""
        try:
            async with (
                asyncio.timeout(STALL_S) as self._stall_timeout,
                asyncio.TaskGroup() as self._group,
            ):
                self._group.create_task(self._send_all(send))
            return
        except TimeoutError:
            open_requests = self._sent - self._completed
            failure: BaseException = LoadError(
                f"no request was completed for {STALL_S:.0f} s: {open_requests} are in flight, "
                f"{self._completed} were completed before; read the server's log"
            )
        except BaseExceptionGroup as group:
            # The task group cancelled the other requests because of the first failure.
            failure = group.exceptions[0]
        # Outside the `except` block, so that the group does not become the context of the failure.
        raise failure

    async def _send_all(self, send: Send) -> None:
        """Start each request when it is due and fewer than `concurrency` are in flight. In a closed
        loop every request is due at once, with a rate when it arrives."""
        rate_per_s = self._requests.rate_per_s
        free_slots = asyncio.Semaphore(self._requests.concurrency)
        random = np.random.default_rng(self._seed)
        now_s = asyncio.get_running_loop().time
        due_s = now_s()
        while True:
            if rate_per_s is not None:
                due_s += random.exponential(1 / rate_per_s)
                if self._sent == self._completed:
                    # No request is in flight, so this wait says nothing about the server.
                    self._stall_timeout.reschedule(max(due_s, now_s()) + STALL_S)
                # Absolute times: a late wake-up delays one request and not all that follow.
                await asyncio.sleep(due_s - now_s())
            # With a rate too, the request set limits the requests in flight.
            await free_slots.acquire()
            if self._is_complete:
                return
            task = self._group.create_task(self._send_one(send, self._sent))
            # A callback also runs for a failed request, so that no slot is lost.
            task.add_done_callback(lambda _: free_slots.release())
            self._sent += 1

    async def _send_one(self, send: Send, number: int) -> None:
        """Send one request, follow it to its end, and pass its answer to the present phase. Raises
        LoadError."""
        request = self._make_request(number)
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
                f"request {number} was for {lengths}, but the server reported {counts}; make the "
                "server ignore end-of-text tokens and accept prompts of this length"
            )
        self._completed += 1
        self._output_tokens += progress.output_tokens
        self._stall_timeout.reschedule(asyncio.get_running_loop().time() + STALL_S)
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

    def _make_request(self, number: int) -> Request:
        """Return the request `number` of the run. Seed and number alone determine its prompt."""
        # Seeded by number, because the order in which requests are built depends on timing.
        random = np.random.default_rng([self._seed, number])
        (length,) = compute_prompt_tokens(self._requests, self._seed, np.array([number]))
        prompt = random.integers(FIRST_ORDINARY_TOKEN, self._vocabulary, length)
        return Request(prompt.tolist(), self._compute_output_tokens(number))

    def _compute_output_tokens(self, number: int) -> int:
        """Return the output length of the request `number`. The first requests of a closed loop
        have lengths in steps up to the full one, unless lengths differ anyway."""
        full_length, concurrency = self._requests.output_tokens, self._requests.concurrency
        is_opening = self._requests.rate_per_s is None and number < concurrency
        if self._requests.uniform or not is_opening:
            return int(compute_output_tokens(self._requests, self._seed, np.array([number]))[0])
        # With few requests in flight, smaller groups still give enough different lengths.
        group_size = max(1, min(STAGGER_GROUP, concurrency // MIN_STAGGER_GROUPS))
        groups = math.ceil(concurrency / group_size)
        return math.ceil(full_length * (number // group_size + 1) / groups)

    def _run_phases(self) -> Generator[None, Answer, None]:
        """Go through warm-up, calibration and epochs. The caller sends in each completed answer."""
        first_answer = yield
        # Warm-up: the requests that started together must end before completions are evenly spread.
        opening_requests = set(range(self._sent)) - {first_answer.request}
        while opening_requests:
            opening_requests.discard((yield).request)
        self._end_phase("warm-up")
        # Completions of a closed loop come in bursts, and their rate changes over a cycle in which
        # each request in flight is completed once. Only whole cycles count all of it. Random
        # arrivals have no cycle.
        concurrency = self._requests.concurrency
        is_closed_loop = self._requests.rate_per_s is None
        cycle = concurrency if is_closed_loop else 1
        min_requests = max(MIN_CALIBRATION_REQUESTS, cycle, min(CALIBRATION_REQUESTS, concurrency))
        ends_s = [(yield).end_ns / 1e9]
        while (
            len(ends_s) <= min_requests
            or ends_s[-1] - ends_s[0] < self._epoch_s * CALIBRATION_SHARE
        ):
            ends_s.append((yield).end_ns / 1e9)
        requests = (len(ends_s) - 1) // cycle * cycle
        completions_per_s = requests / (ends_s[requests] - ends_s[0])
        requests_per_epoch = self._compute_requests_per_epoch(completions_per_s, requests)
        self._on_calibrated(requests_per_epoch, 1 / completions_per_s)
        self._end_phase("calibration")
        for epoch in range(self._epochs):
            self._epoch = epoch
            answers: list[Answer] = []
            while len(answers) < requests_per_epoch:
                answers.append((yield))
            # As a task, because writing here would delay the next request.
            self._group.create_task(self._hand_over(epoch, answers))
        # Requests that are still in flight end normally. They belong to no epoch, but the tally
        # counts them.
        self._is_complete = True
        self._epoch = NO_EPOCH
        while True:
            yield

    def _end_phase(self, phase: str) -> None:
        """Report a phase that ends now. The next one begins where it ends."""
        start_ns, self._phase_start_ns = self._phase_start_ns, time.monotonic_ns()
        self._on_phase(phase, start_ns, self._phase_start_ns)

    def _compute_requests_per_epoch(
        self, completions_per_s: float, calibration_requests: int
    ) -> int:
        """Return the number of completed requests with which an epoch lasts `epoch_s`. The margin
        of random arrivals and lengths keeps epochs from being too short by chance."""
        if self._requests.rate_per_s is not None:
            # The declared rate of random arrivals is more precise than a measured one.
            mean_requests = self._epoch_s * self._requests.rate_per_s
            return math.ceil(mean_requests + MARGIN_SIGMA * math.sqrt(mean_requests))
        mean_requests = self._epoch_s * completions_per_s
        if not self._requests.uniform:
            return math.ceil(mean_requests)
        # The requests of the calibration and those of an epoch deviate independently.
        deviation = UNIFORM_VARIATION * math.sqrt(1 / calibration_requests + 1 / mean_requests)
        return math.ceil(mean_requests * (1 + MARGIN_SIGMA * deviation))

    async def _hand_over(self, epoch: int, answers: list[Answer]) -> None:
        """Pass an epoch to `on_epoch`, after the requests that replace its last ones are sent."""
        await asyncio.sleep(HAND_OVER_DELAY_S)
        self._on_epoch(epoch, answers)
