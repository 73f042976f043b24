"""What an implementation is given and what it must give back: the contract between a workload's code and the harness.

An implementation is one function, named to the harness as `module:function`. It builds the model and its resident data
and returns a `Built`; the harness then calls `Built.run` with a recorder, and the implementation's own loop says where
each batch begins and ends:

    while recorder.more():
        recorder.start()
        loss = train_step()
        recorder.end(items=batch_size * items_per_sample, loss=loss)

The recorder decides how many batches there are (warm-up, calibration, then 11 epochs); the loop never counts. A loop
that belongs to a framework calls the same three methods from its callbacks. Between `start` and `end` nothing may wait
for the device: no `.item()`, no printing of a loss.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True)
class Job:
    """What one process of a run is to build. `device` is a torch device string such as `cuda:0` or `cpu`."""

    workload: str
    variant: str
    size: str
    batch_size: int
    """Samples per batch of this rank. A sample is an image, a sequence or a request: `Size.items_per_sample` items."""
    seed: int
    device: str
    rank: int = 0
    world_size: int = 1


class Recorder(Protocol):
    """What the harness hands to an implementation."""

    def more(self) -> bool:
        """Whether another batch is wanted. Between epochs this waits for the device; inside an epoch it does not."""
        ...

    def start(self) -> None:
        """Mark the beginning of a batch on the device's current stream."""
        ...

    def end(self, items: int, loss: Any) -> None:
        """Mark the end of a batch of `items` items. `loss` is a scalar, still on the device; it is read after the epoch."""
        ...


@dataclass(frozen=True)
class Built:
    """A model that is ready to run, and the facts about it that a bundle records."""

    run: Callable[[Recorder], None]
    precision: str
    parameters: int
    input_shape: tuple[int, ...]
    settings: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)
    """Whatever else a reader needs to repeat it: optimiser, learning rate, memory format, compile mode."""
