"""The interface between the study of image models and the program that runs the models.

An implementation is one function, `open_model`, named as `module:function`. It builds one model for
one input size, engine and precision. The harness chooses batch sizes and durations:

    model = open_model(job)
    model.prepare(batch)
    model.run(batches, parts, mark)
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

ENGINES = ("eager", "cudagraph", "compile", "tensorrt")
PRECISIONS = ("fp32", "tf32", "tf32-conv", "fp16", "bf16")
"""`tf32-conv`: convolutions in TF32 and matrix products in FP32, the default of PyTorch."""


class ModelRefused(Exception):
    """The model cannot be built for this input size, engine or precision. The text is the reason.
    The study records it as skipped."""


class BatchRefused(Exception):
    """The model does not run at this batch size, which ends its ladder. `outcome` is one of
    `rules.bundle_format.study_records.OUTCOMES` except `ok`."""

    def __init__(self, outcome: str, reason: str) -> None:
        super().__init__(reason)
        self.outcome = outcome


@dataclass(frozen=True)
class ModelJob:
    """The model to build, and where."""

    architecture: str
    """A name of `timm.create_model` without tag."""
    size: int
    """Side of the square input, in pixels."""
    engine: str
    precision: str
    seed: int
    device: str
    """A torch device string such as `cuda:0` or `cpu`."""
    uuid: str
    """UUID of the accelerator, as the meter reports it."""
    channels_last: bool
    autograd: bool
    """Whether autograd records the forward pass, as in the published measurements."""


@dataclass(frozen=True)
class ModelFacts:
    """Sizes of a model at its input size, per image."""

    flops: int
    """A multiply-add counts as two."""
    params: int
    activations: int
    """Elements in the outputs of convolutions and matrix products."""


class OpenModel(Protocol):
    """A model that is ready to run."""

    facts: ModelFacts

    def prepare(self, batch: int) -> None:
        """Allocate synthetic input for this batch size on the accelerator, capture or compile, and
        run at least two batches. Raises BatchRefused."""
        ...

    def run(self, batches: int, parts: int, mark: Callable[[], None]) -> None:
        """Run `parts` times `batches` batches without a pause between the parts.

        Calls `mark` before the first part and after each part. On a GPU, `mark` puts an event onto
        the current stream and does not wait, so the batches must be on that stream. Raises
        BatchRefused.
        """
        ...

    def peak_bytes(self) -> int:
        """Peak of the allocated memory on the accelerator since the last `prepare`; 0 on a CPU."""
        ...

    def close(self) -> None:
        """Free the memory of the model."""
        ...
