"""Typed records of what result.json and system.json declare, as far as rules read them.

Each record has the `pointer` of the JSON object that it comes from, so that a violation can name
its place. Fields have the names and units of `rules/bundle_format/schemas/`.
"""

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Self

from rules.boards import SIMULATED_PREFIX, Board, board, highest_power_w
from rules.bundle_format.records import Json


@dataclass(frozen=True)
class _Record:
    pointer: str
    """JSON pointer of the object in its file, such as `/readbacks/3`."""

    @classmethod
    def from_json(cls, pointer: str, record: Json) -> Self:
        """The record of a JSON object. An optional field that is absent is None."""
        names = [field.name for field in fields(cls) if field.name != "pointer"]
        return cls(pointer=pointer, **{name: record.get(name) for name in names})


@dataclass(frozen=True)
class Rank(_Record):
    """A process that ran batches."""

    rank: int
    node: str
    accelerators: tuple[str, ...]
    """The UUIDs of the accelerators that it computed on."""


@dataclass(frozen=True)
class Readback(_Record):
    """Settings and counters of one accelerator, read back from the driver. None: the meter has no
    such quantity."""

    when: str
    """`before`, `epoch-N` or `after`."""
    accelerator: str
    min_mw: int | None
    max_mw: int | None
    default_mw: int | None
    requested_mw: int | None
    enforced_mw: int | None
    foreign_processes: int | None
    mig: bool | None
    ecc_uncorrected: int | None
    ecc_corrected: int | None
    sm_set_mhz: int | None
    sm_default_mhz: int | None
    mem_set_mhz: int | None
    mem_default_mhz: int | None


@dataclass(frozen=True)
class StatedEpoch(_Record):
    """What result.json states of an epoch, besides its figures."""

    epoch: int
    scored: bool
    loss: float | None
    losses: list[float | None] | None
    """The loss of each step; None in bundles of harnesses that did not record it."""


@dataclass(frozen=True)
class ClockPair(_Record):
    """Monotonic and wall clock of a node, read together."""

    node: str
    when: str
    """`before` its first sample or `after` its last."""
    monotonic_ns: int
    wall_ns: int


@dataclass(frozen=True)
class Accelerator(_Record):
    """An accelerator that system.json lists."""

    node: str
    uuid: str
    name: str
    vendor: str
    memory_bytes: int | None
    vbios: str | None
    max_power_w: float | None

    @property
    def is_simulated(self) -> bool:
        return self.name.startswith(SIMULATED_PREFIX)

    @property
    def board(self) -> Board | None:
        """The board of the rule book that the name means; for a simulated board its model."""
        return board(self.name)

    @cached_property
    def highest_power_w(self) -> float:
        """The highest power in W that the board may be set to; NaN if it is not known."""
        return highest_power_w(self.name, self.max_power_w)
