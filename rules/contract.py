"""The interface between an implementation of a workload and the harness.

An implementation is one function, which the user names as `module:function`. It takes a `Job`,
builds the model and its resident data, and returns a `Built`. The harness then calls `Built.run`
with a recorder, and the loop of the implementation marks where each batch begins and ends:

    while recorder.more():
        recorder.start()
        loss = train_step()
        recorder.end(items=batch_size * items_per_sample, loss=loss)

The recorder decides how many batches run: warm-up, calibration, then 11 epochs. The loop does not
count. If the loop is part of a framework, its callbacks call the same three methods. Code between
`start` and `end` must not wait for the device: no `.item()`, no printing of a loss.

An implementation that serves gets a `Load` instead, and passes it a function that sends one
request:

    async def send(request: Request) -> AsyncIterator[Progress]:
        ...  # yield the progress each time the server reports more tokens

    asyncio.run(load.drive(send, count_generated_tokens))

The load decides which requests are sent and when, measures their times, and ends the run.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


class BoardFault(Exception):
    """A board computes wrong results. The message names the board and what to do."""


TRAININGS_OF_A_SEED = 2**20
"""How many trainings of all ranks have seeds of their own under one seed of a run."""


@dataclass(frozen=True)
class RequestSet:
    """The requests of a run. No two have the same prompt."""

    prompt_tokens: int
    output_tokens: int
    concurrency: int
    """Requests in flight: exactly this many in a closed loop, at most this many with an arrival
    rate."""
    rate_per_s: float | None = None
    """Mean arrival rate of a Poisson process. None is a closed loop: the next request is sent when
    one is completed."""
    uniform: bool = False
    """Whether the lengths are uniform from 1 to `prompt_tokens` and `output_tokens`. Otherwise all
    requests have these lengths."""

    @property
    def mean_output_tokens(self) -> float:
        """The mean length of an answer."""
        return (self.output_tokens + 1) / 2 if self.uniform else self.output_tokens


@dataclass(frozen=True)
class Job:
    """The work of one process of a run."""

    workload: str
    variant: str
    size: str
    batch_size: int
    """Samples per batch of this rank. A sample is an image, a sequence or a request:
    `Size.items_per_sample` items."""
    seed: int
    device: str
    """A torch device string such as `cuda:0` or `cpu`."""
    rank: int = 0
    world_size: int = 1
    accelerators: int = 1
    """Number of accelerators of this process: one for training, all of the node for a server."""
    uuids: tuple[str, ...] = ()
    """The UUIDs of the accelerators, as the meter reports them."""
    requests: RequestSet | None = None
    """For serving only."""
    corpus: str | None = None
    """Path of a text file to train on; None for synthetic input."""
    weights: str | None = None
    """Path of a checkpoint; None for weights initialised from the seed."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Options of this implementation, from `--option`. It raises ValueError for an unknown one."""

    def make_training_seed(self, number: int) -> int:
        """Return the seed of the training with this number on this rank, for workloads with a
        target. No two trainings of a run, and none of a run with another seed, have the same.
        Raises ValueError if a run has more of them."""
        place = number * self.world_size + self.rank
        if place >= TRAININGS_OF_A_SEED:
            raise ValueError(f"training {number}: a run has at most {TRAININGS_OF_A_SEED}")
        return self.seed * TRAININGS_OF_A_SEED + place


@dataclass(frozen=True)
class Training:
    """A whole training that reached the target of its workload."""

    seed: int
    steps: int
    accuracy: float
    """Share of the held-out samples that the last evaluation found correct."""


class Recorder(Protocol):
    """Marks the batches of an implementation that trains."""

    def more(self) -> bool:
        """Whether to run another batch. Waits for the device between epochs, never inside one."""
        ...

    def start(self) -> None:
        """Mark the beginning of a batch on the device's current stream."""
        ...

    def end(self, items: int, loss: Any = None, training: Training | None = None) -> None:
        """Mark the end of a batch of `items` items, or of a whole `training` of a workload with a
        target.

        `loss` is a scalar on the device. It is read after the epoch, so pass a detached tensor that
        later steps do not overwrite. A control run has no loss.
        """
        ...


@dataclass(frozen=True)
class Request:
    """One request to a server: the token ids of the prompt, and the exact number of tokens to
    generate."""

    prompt: list[int]
    output_tokens: int


@dataclass(frozen=True)
class Progress:
    """The progress of a request, in tokens, as the server reports it."""

    prompt_tokens: int
    output_tokens: int


Send = Callable[[Request], AsyncIterator[Progress]]
"""A function that sends a request and yields the server's progress. The iteration ends when the
response is complete."""


class Load(Protocol):
    """The load generator, for an implementation that serves."""

    async def drive(self, send: Send, generated: Callable[[], Awaitable[int]]) -> None:
        """Send requests until the run is complete, and return when none is in flight.

        `generated` returns the number of tokens that the server has generated since it started,
        from the server's own counter.
        """
        ...


@dataclass(frozen=True)
class Built:
    """A model that is ready to run, and its properties, which the bundle records."""

    run: Callable[[Any], None]
    """Takes the `Recorder`, or the `Load` for serving, and runs until that ends the run."""
    precision: str
    parameters: int
    input_shape: tuple[int, ...]
    settings: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)
    """Other settings that are needed to repeat the run, such as optimiser, learning rate, memory
    format and compile mode."""
    vocabulary: int | None = None
    """For serving: token ids of prompts are below this."""
    inputs_sha256: str | None = None
    """Hash of a part of the synthetic input, which follows from the seed, on this rank. Runs of one
    configuration and seed have equal hashes."""
    corpus_sha256: str | None = None
    """SHA-256 of the file `Job.corpus` if the model is trained on it (`rules.input_hash`)."""
    weights_sha256: str | None = None
    """SHA-256 of the checkpoint `Job.weights` if it is loaded (`rules.input_hash.hash_input`). Runs
    with another one are no repeats."""
