"""Workload definitions: the model, the sizes and the FLOPs per item. Every file of this folder
defines one workload and is found by discovery."""

import importlib
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache

from rules.contract import RequestSet

Choice = tuple[str | bool | None, ...]
"""The values that a setting may have."""
PRECISION_SETTINGS = frozenset(
    {
        "autocast",
        "fabric_precision",
        "fp8_linear",
        "loss_scaling",
        "quantization",
        "residual_stream",
    }
)
"""The settings of the reference implementations that make up the precision of a variant."""


@dataclass(frozen=True)
class Target:
    """What a training must reach, for workloads whose item is a whole training."""

    accuracy: float
    """Share of the held-out samples that the model classifies correctly."""
    held_out: int
    """Number of held-out samples."""
    steps_between: int
    """Steps between two evaluations. A training ends at the first one that reaches the accuracy."""
    max_steps: int
    """A training that has not reached it after so many steps ends the run."""


@dataclass(frozen=True)
class Size:
    """One size of a workload.

    `full` is the workload itself. `smoke` is a small version that a laptop CPU finishes in seconds;
    its results are never compared. FLOPs are per item and count a multiply-add as two. For training
    they cover the forward and the backward pass. With a target they are per sample of a step.
    """

    input_shape: tuple[int, ...]
    parameters: int
    flops_per_item: float
    batch_sizes: Mapping[str, int]
    """Default samples per batch and rank, by variant. For serving it is the number of requests in
    flight per accelerator."""
    max_batch_size: int
    """The search for the highest stable batch size does not go beyond this."""
    min_flops_per_item: float | None = None
    """FLOPs per item without those that only some ways of counting include, such as the masked half
    of causal attention. None if all ways give `flops_per_item`."""
    read_parameters: int = 0
    """For serving: number of parameters that every decoding step reads. Those of an embedding are
    left out, because a step reads only single rows of it."""
    kv_values_per_token: int = 0
    """For serving: values in the key-value cache per token."""
    items_per_sample: int = 1
    """Items per sample of a batch: 1 for images, the sequence length for token sequences, the
    output length for requests."""
    uniform_requests: bool = False
    """For serving: whether the lengths of requests are uniform up to those of the size."""
    item: str | None = None
    """The unit of work of this size; None for that of the workload."""
    target: Target | None = None
    """What a training must reach. Its batches are whole trainings, each of one item, and the batch
    size is that of a step."""

    def count_items(self, batch_size: int) -> int:
        """Return the items of a batch with `batch_size` samples."""
        return 1 if self.target else batch_size * self.items_per_sample

    def request_set(self, concurrency: int) -> RequestSet:
        """Return the requests of this size in a closed loop with `concurrency` requests in flight:
        prompts of the input length and outputs of `items_per_sample` tokens."""
        return RequestSet(
            self.input_shape[0],
            self.items_per_sample,
            concurrency,
            uniform=self.uniform_requests,
        )


def pluralize_item(item: str) -> str:
    """Return the plural of an item: `images`. A unit such as `TFLOP` has none."""
    return item if item.endswith("FLOP") else f"{item}s"


@dataclass(frozen=True)
class Workload:
    """The properties of a workload that the rule book fixes. An implementation chooses the rest."""

    id: str
    title: str
    item: str
    """The unit of work, in the singular: `image` or `token`."""
    mode: str
    """`training`, `inference` or `control`. A control run loads the boards as much as possible. It
    is compared with no workload."""
    model: str
    stack: str
    variants: Mapping[str, str]
    """The precision of the matrix products, by variant."""
    variants_in_words: Mapping[str, str]
    """What each variant is, in a few words for readers."""
    precisions: tuple[str, ...]
    """Precisions allowed in the closed division."""
    fixed: Mapping[str, Mapping[str, Choice]]
    """By variant, the allowed values of those settings of the reference implementation that affect
    the arithmetic of an item."""
    full: Size
    smoke: Size | None = None
    variant_sizes: Mapping[tuple[str, str], Size] = field(default_factory=dict)
    """By variant and name, the sizes of a variant whose items differ from those of the others."""
    open_variants: tuple[str, ...] = ()
    """Variants that are never closed: they have the settings of somebody else, or spend less
    arithmetic on an item than the others."""
    precision_variants: tuple[str, ...] = ()
    """Variants that differ from each other in precision only: in the settings
    `PRECISION_SETTINGS`."""
    implementation: str | None = None
    """`module:function` of the reference implementation; None if there is none yet."""
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The values of each option of the reference implementation; none if it takes others, such as
    the path of a file."""
    inputs: tuple[str, ...] = ()
    """The files of a submitter that the reference implementation takes: `corpus`, `weights`."""
    notes: str = ""
    published_as: tuple[str, ...] = field(default=())
    """The names of the workload in published tables, to match their rows."""

    def check_inputs(
        self, options: Mapping[str, str], corpus: str | None, weights: str | None
    ) -> None:
        """Raise ValueError for an option or a file that the reference implementation does not
        take."""
        for name, value in options.items():
            if name not in self.options:
                known = ", ".join(self.options)
                raise ValueError(
                    f"option {name}={value}: {self.id} has no option {name}; "
                    f"{f'the options are {known}' if known else 'it has none'}"
                )
            if (values := self.options[name]) and value not in values:
                raise ValueError(f"option {name}={value}: give one of {', '.join(values)}")
        for name, path in (("corpus", corpus), ("weights", weights)):
            if path is not None and name not in self.inputs:
                raise ValueError(f"--{name} {path}: {self.id} takes no {name}; leave it out")

    @property
    def is_control(self) -> bool:
        """Whether the runs are control runs."""
        return self.mode == "control"

    @property
    def item_name(self) -> str:
        """The item in sentences: what a server counts is its output tokens."""
        return f"output {self.item}" if self.mode == "inference" else self.item

    def item_of(self, size: str) -> str:
        """Return the unit of work of a size. Raises KeyError if the workload does not have it."""
        return self.size(size).item or self.item

    def rate_unit(self, size: str) -> str:
        """Return the unit of the throughput of a size, such as `images/s` or `TFLOP/s`."""
        return f"{pluralize_item(self.item_of(size))}/s"

    def size(self, name: str, variant: str = "") -> Size:
        """Return the size with this name, that of `variant` if it has its own. Raises KeyError if
        the workload does not have it."""
        if size := self.variant_sizes.get((variant, name)):
            return size
        size = {"full": self.full, "smoke": self.smoke}[name]
        if size is None:
            raise KeyError(name)
        return size

    def apply_options(self, size: Size, options: Mapping[str, str] | None) -> Size:
        """Return the size with the parameters and the input shape that these options give it: the
        option `side` of a control run is the side of its matrices."""
        side = (options or {}).get("side")
        if not self.is_control or side not in self.options.get("side", ()):
            return size
        return replace(size, parameters=int(side) ** 2, input_shape=(int(side), int(side)))


@cache
def workloads() -> Mapping[str, Workload]:
    """Return all workloads by id, sorted by id. Every module of this folder defines one as
    `WORKLOAD`."""
    definitions = [
        importlib.import_module(f"{__name__}.{m.name}").WORKLOAD
        for m in pkgutil.iter_modules(__path__)
    ]
    return {w.id: w for w in sorted(definitions, key=lambda w: w.id)}
