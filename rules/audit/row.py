"""`Row`: one result of another program, with what can be checked of it.

An adapter in `checker/audit/sources/` makes rows. It computes nothing but what a row holds:
figures, each with its basis, and checks, each of two ways to one figure. The rules of family F look
at the row.
"""

import math
from dataclasses import dataclass, field
from enum import StrEnum

DEFAULT_TOLERANCE = 0.01
"""Two ways to one figure agree within this share."""


class Basis(StrEnum):
    """Where a figure comes from."""

    SAMPLES = "samples"
    """Integrated from power readings in the source."""
    COUNTER = "counter"
    """The difference of an energy counter in the source."""
    LOG = "log"
    """Counted in a log of the source."""
    DERIVED = "derived"
    """Computed from figures that the source states."""
    STATED = "stated"


RAW = frozenset({Basis.SAMPLES, Basis.COUNTER, Basis.LOG})
"""The bases of figures that are recomputed."""


class Scope(StrEnum):
    """What the power is that of."""

    BOARDS = "boards"
    NODE = "node"
    NODES = "nodes"
    SWITCH = "switch"
    DEVICE = "device"
    """A device without accelerator boards, such as a microcontroller."""
    MACHINE = "machine"
    """Boards and models of the rest of the machine."""


class Topic(StrEnum):
    """What two ways to a figure are about. Each has a rule of family F."""

    ENERGY_OF_SAMPLES = "energy of samples"
    POWER_TIMES_TIME = "power times time"
    RATE = "rate"
    PARTS = "parts"
    DURATION = "duration"
    COUNT = "count"


@dataclass(frozen=True)
class Figure:
    """A figure with its basis. `low` and `high` bound its 95 % interval where there are samples."""

    value: float
    basis: Basis
    how: str = ""
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Check:
    """A figure of the source beside the same figure computed another way."""

    topic: Topic
    what: str
    unit: str
    stated: float
    computed: float
    how: str
    """How the second figure is computed."""
    tolerance: float = DEFAULT_TOLERANCE
    by_construction: bool = False
    """Whether the program computes the one from the other, so that agreement proves nothing."""

    @property
    def difference(self) -> float:
        """The share by which the stated figure differs from the computed one; NaN without one."""
        if self.computed == 0:
            return 0.0 if self.stated == 0 else math.inf
        return self.stated / self.computed - 1

    @property
    def agrees(self) -> bool:
        """Whether both are equal within the tolerance."""
        return abs(self.difference) <= self.tolerance


@dataclass(frozen=True)
class Trace:
    """What the rules see of one series of readings: figures over the window of the row."""

    label: str
    readings: int
    """In the window."""
    covered_share: float
    """Share of the window that the series covers."""
    largest_gap_s: float
    missing_s: float
    """Time of the window in gaps."""
    duration_s: float
    """Of the window."""
    mean_power_w: float
    highest_w: float
    zero_readings: int = 0
    boards: int = 0
    """How many boards the series is that of; 0 for other scopes."""
    shift_s: float = 0.0
    """By how much the adapter shifted the clock of the series."""


@dataclass(frozen=True)
class FileHash:
    """A hash that the source states of one of its files, and that of the file."""

    file: str
    stated: str
    computed: str


@dataclass(frozen=True)
class Row:
    """One result. None and empty texts stand for what the source does not have."""

    source: str
    """The name of the adapter."""
    place: str
    """The file that the row is of, and the row in it."""
    files: tuple[str, ...] = ()
    """All files that the row was made from."""
    system: str = ""
    workload: str = ""
    board: str = ""
    """As the source calls it."""
    boards: int | None = None
    """How many boards the energy is that of."""
    scope: Scope = Scope.BOARDS
    unit: str = "item"
    duration_s: float | None = None
    energy_j: Figure | None = None
    items: Figure | None = None
    joules_per_item: Figure | None = None
    mean_power_w: float | None = None
    """Of everything in the scope."""
    board_power_w: float | None = None
    """The mean of one board, where the source states it."""
    peak_power_w: float | None = None
    """The highest single reading that the source states."""
    cap_w: float | None = None
    """Of one board."""
    max_board_w: float | None = None
    """The highest limit of one board, where the source states it."""
    items_per_s: float | None = None
    flops_per_item: float | None = None
    """A lower bound."""
    precision: str = ""
    checks: tuple[Check, ...] = ()
    traces: tuple[Trace, ...] = ()
    hashes: tuple[FileHash, ...] = ()
    unmatched_marks: tuple[str, ...] = ()
    """Marks of a measurement that contain none of its readings."""
    silent: tuple[str, ...] = ()
    """Quantities that are 0 in the source and cannot be."""
    invalid_reasons: tuple[str, ...] = ()
    """Why the source itself calls its power not valid."""
    unfinished: str = ""
    """Why part of the energy belongs to work that is not among the items."""
    tool_errors: tuple[str, ...] = field(default=())
    """Errors that the rules of another family report on the source: those of our own bundles."""
    missing: tuple[str, ...] = ()
    """What a check would need and the source does not have."""
    remarks: tuple[str, ...] = ()
    """What a reader of the figures must know."""

    @property
    def power_per_board_w(self) -> float | None:
        """The mean power of one board: the higher of what the row has, None without any."""
        powers = [self.board_power_w]
        if self.scope == Scope.BOARDS and self.boards and self.mean_power_w is not None:
            powers.append(self.mean_power_w / self.boards)
        known = [power for power in powers if power is not None]
        return max(known) if known else None
