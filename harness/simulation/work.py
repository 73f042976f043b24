"""Simulated work. It computes nothing and takes the time that the throughput model gives at the cap
in force.

`build` is an implementation like any other (see `rules.contract`): `bench-submit run WORKLOAD
--simulate h200` uses it. Batches and requests are those of the smoke size, and the rate is that of
the real workload. docs/simulated.md lists the other differences from a real run.
"""

import asyncio
import itertools
import math
import os
import random
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

from harness.errors import MeterError
from harness.simulation.server import VARIABLE, Client
from harness.simulation.throughput_model import CONTROL_FIT, load_fit, name_figures
from rules.contract import Built, Job, Load, Progress, Recorder, Request, Training
from rules.workloads import Target, workloads

RATE_REFRESH_S = 0.05
VOCABULARY = 512
FIRST_LOSS, LOSS_POWER, LOSS_NOISE = 7.0, 0.1, 0.01
TARGET_EVALUATIONS = (7, 16)
"""Fewest and most evaluations of a training: those of the smoke size on a CPU."""
MIN_BATCH_SHARE = 0.5
"""The shortest time of a batch that makes up for a delay, as a share of its normal time."""
MAX_DELAY_S = 1.0
"""The longest delay that later batches make up for. After a longer one, a long series of short
batches would look like a faster board."""


def check_inputs(
    workload: str, options: Mapping[str, str], corpus: str | None, weights: str | None
) -> None:
    """Raise ValueError for options and files: simulated work takes none."""
    if options or corpus or weights:
        is_control = workload in workloads() and workloads()[workload].is_control
        names = "--input or --side" if is_control else "--option, --weights or --corpus"
        raise ValueError(f"simulated {workload} takes no {names}: leave them out")


def build(job: Job) -> Built:
    """Start the job's workload on its accelerators.

    Raises ValueError for options that it does not have, without a simulator, and if no figures of
    the workload are published. The returned `run` raises MeterError if a board vanishes.
    """
    check_inputs(job.workload, job.options, job.corpus, job.weights)
    if (path := os.environ.get(VARIABLE)) is None:
        raise ValueError(
            f"{VARIABLE} is not set: simulated work needs a simulator; use bench-submit "
            "run --simulate h200"
        )
    workload = workloads()[job.workload]
    size = workload.size(job.size, job.variant)
    try:
        # One connection for the whole run: the simulator ends the work of a connection that closes.
        client = Client(path)
        for uuid in job.uuids:
            client.ask("work", uuid=uuid, workload=name_figures(workload, job.variant))
    except MeterError as error:
        raise ValueError(str(error)) from None
    rate = Rate(client, job.uuids)

    def run(harness: Any) -> None:
        if size.target is not None:
            train_to_target(harness, rate, job, size.target)
        elif job.requests is None:
            items = job.batch_size * size.items_per_sample
            has_loss = workload.mode == "training"
            train(harness, rate, items, job.seed + job.rank, has_loss)
        else:
            asyncio.run(Server(rate).drive(harness))
        for uuid in job.uuids:
            client.ask("work", uuid=uuid, workload=None)

    return Built(
        run=run,
        precision=workload.variants[job.variant],
        parameters=size.parameters,
        input_shape=size.input_shape,
        settings={
            "simulated": True,
            **({"target_accuracy": size.target.accuracy} if size.target else {}),
            "fit": CONTROL_FIT if workload.is_control else load_fit().name,
        },
        vocabulary=None if job.requests is None else VOCABULARY,
    )


class Rate:
    """The throughput in items/s of all accelerators of a process together. It is read again every
    RATE_REFRESH_S, because a cap may change during the run."""

    def __init__(self, client: Client, uuids: Sequence[str]) -> None:
        self._client, self._uuids = client, uuids
        self._per_s, self._until_s = 0.0, 0.0

    def __call__(self) -> float:
        if (now_s := time.monotonic()) >= self._until_s:
            self._per_s = sum(self._client.ask("rate", uuid=uuid) for uuid in self._uuids)
            self._until_s = now_s + RATE_REFRESH_S
        return self._per_s


def train(
    recorder: Recorder, rate: Callable[[], float], items: int, seed: int, has_loss: bool = True
) -> None:
    """Make batches of `items` at the given rate in items/s, with a loss that falls.

    The next batches make up for the delay of a batch, so that the load of the machine hardly
    changes the throughput.
    """
    noise = random.Random(seed)
    pace = Pace(rate)
    for step in itertools.count(1):
        if not recorder.more():
            return
        loss = FIRST_LOSS * step**-LOSS_POWER * (1 + noise.gauss(0, LOSS_NOISE))
        recorder.start()
        pace.work(items)
        recorder.end(items, loss if has_loss else None)


def train_to_target(
    recorder: Recorder, rate: Callable[[], float], job: Job, target: Target
) -> None:
    """Make trainings at the given rate in samples/s. The seed of each decides its steps and the
    accuracy that it reaches."""
    pace = Pace(rate)
    for number in itertools.count():
        if not recorder.more():
            return
        seed = job.make_training_seed(number)
        chance = random.Random(seed)
        evaluations = chance.randint(*TARGET_EVALUATIONS)
        least = math.ceil(target.accuracy * target.held_out)
        accuracy = chance.randint(least, target.held_out) / target.held_out
        training = Training(seed, evaluations * target.steps_between, accuracy)
        recorder.start()
        pace.work(training.steps * job.batch_size)
        recorder.end(1, 1 - accuracy + chance.random(), training)


class Pace:
    """Takes the time of batches at a rate in items/s, without the delays of the machine."""

    def __init__(self, rate: Callable[[], float]) -> None:
        self._rate = rate
        self._delay_s = 0.0

    def work(self, items: int) -> None:
        """Wait as long as a batch takes."""
        # Called after the start mark, so that no recorded batch is shorter than it should be.
        start_s = time.monotonic()
        duration_s = items / self._rate()
        # A sleep ends late on a busy machine. The delay is taken off the next batch.
        end_s = start_s + duration_s - self._delay_s
        while (
            remaining_s := max(end_s, start_s + MIN_BATCH_SHARE * duration_s) - time.monotonic()
        ) > 0:
            time.sleep(remaining_s)
        self._delay_s = min(time.monotonic() - end_s, MAX_DELAY_S)


class Server:
    """Answers requests in this process, one after the other in order of arrival. Prompts take no
    time.

    Answers end when they are due on the clock of the server. If the machine is late, this clock
    lags behind the real one and catches up, as in `train`.
    """

    def __init__(self, rate: Callable[[], float]) -> None:
        self._rate = rate
        self._turn = asyncio.Lock()
        self._free_s = self._delay_s = 0.0
        """When the last answer was due to end (monotonic clock), and how late it ended, in s."""
        self._in_flight = self._generated = 0

    async def drive(self, load: Load) -> None:
        """Answer the requests of the load generator."""
        await load.drive(self._send, self._count_generated_tokens)

    async def _count_generated_tokens(self) -> int:
        return self._generated

    async def _send(self, request: Request) -> AsyncIterator[Progress]:
        prompt, tokens = len(request.prompt), request.output_tokens
        # An idle server starts a request when it arrives. Otherwise the request begins when the one
        # before it was due to end.
        if self._in_flight == 0:
            self._free_s = max(self._free_s, time.monotonic() - self._delay_s)
        self._in_flight += 1
        # `asyncio.Lock` is first come, first served.
        async with self._turn:
            begin_s, token_s = time.monotonic(), 1 / self._rate()
            first_s = max(self._free_s, begin_s - MAX_DELAY_S) + token_s
            self._free_s = first_s + (tokens - 1) * token_s
            await _sleep_until(max(first_s, begin_s + MIN_BATCH_SHARE * token_s))
            yield Progress(prompt, 1)
            await _sleep_until(max(self._free_s, begin_s + MIN_BATCH_SHARE * tokens * token_s))
            self._delay_s = min(time.monotonic() - self._free_s, MAX_DELAY_S)
            self._generated += tokens
        self._in_flight -= 1
        yield Progress(prompt, tokens)


async def _sleep_until(instant_s: float) -> None:
    await asyncio.sleep(instant_s - time.monotonic())
