"""Workload definitions: what is run and how much arithmetic one item takes. One file per workload;
they are discovered."""

import importlib
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from rules.contract import RequestSet

Choice = tuple[str | bool | None, ...]
"""The values that a setting may have."""


@dataclass(frozen=True)
class Size:
    """How large a workload is run.

    `full` is the workload; `smoke` is a shrunk one that a laptop CPU finishes in seconds and that
    is never compared. FLOPs count a multiply-add as two and cover one item, in training forward and
    backward.
    """

    input_shape: tuple[int, ...]
    parameters: int
    flops_per_item: float
    batch_sizes: Mapping[str, int]
    """Default samples per batch of a rank, by variant. For serving a sample is a request, and these
    are in flight at once."""
    max_batch_size: int
    """Where the search for the highest stable batch stops."""
    min_flops_per_item: float | None = None
    """What an item takes however its arithmetic is counted; None where that is `flops_per_item`."""
    read_parameters: int = 0
    """For serving: parameters that a step of decoding reads whole, which those of an embedding are
    not."""
    kv_values_per_token: int = 0
    """For serving: numbers that the cache of keys and values holds of one token."""
    items_per_sample: int = 1
    """How many items one sample of a batch is: 1 for images, the sequence's length for tokens, an
    answer's for requests."""

    def request_set(self, concurrency: int) -> RequestSet:
        """What a server is sent, in a closed loop: prompts of the input's length, answers of a
        sample's items."""
        return RequestSet(self.input_shape[0], self.items_per_sample, concurrency)


@dataclass(frozen=True)
class Workload:
    """What the rule book fixes of a workload; an implementation may choose the rest."""

    id: str
    title: str
    item: str
    """The unit of work: `image` or `token`; plural by adding an s."""
    mode: str
    """`training` or `inference`."""
    model: str
    stack: str
    variants: Mapping[str, str]
    """Variant to the precision of its matrix products."""
    precisions: tuple[str, ...]
    """Precisions allowed in the closed division."""
    fixed: Mapping[str, Mapping[str, Choice]]
    """By variant, what the reference implementation says of its own settings that decide the
    arithmetic of an item."""
    full: Size
    smoke: Size | None = None
    implementation: str | None = None
    """`module:function` of the reference implementation; None where there is none yet."""
    notes: str = ""
    published_as: tuple[str, ...] = field(default=())
    """Names under which papers report it, for matching published rows."""

    def size(self, name: str) -> Size:
        """The size of that name. Raises KeyError where the workload has none."""
        size = {"full": self.full, "smoke": self.smoke}[name]
        if size is None:
            raise KeyError(name)
        return size


@cache
def workloads() -> Mapping[str, Workload]:
    """All workloads by id, in order of id: every module of this folder defines one as
    `WORKLOAD`."""
    definitions = [
        importlib.import_module(f"{__name__}.{m.name}").WORKLOAD
        for m in pkgutil.iter_modules(__path__)
    ]
    return {w.id: w for w in sorted(definitions, key=lambda w: w.id)}
