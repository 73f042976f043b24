"""The records of a power log: its readings as columns, and the problems found in it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

import numpy as np

from rules.bundle_format.table import Floats, Ints, Mask

MAX_PROBLEMS_OF_A_KIND = 20
"""So many problems of a kind are listed one by one. The last entry counts the others."""

POWER, VOLTAGE, CURRENT, POWER_FACTOR, ENERGY = (
    "power_w",
    "voltage_v",
    "current_a",
    "power_factor",
    "energy_j",
)


class PowerLogError(Exception):
    """A log or its map cannot be used. The message names the file, the place, what is there and
    what to do."""


class Interval(Enum):
    """What a reading stands for."""

    INSTANT = "instant"
    """The power at its time."""
    MEAN_BEFORE = "mean-before"
    """The mean power since the reading before it."""
    UNTIL_NEXT = "until-next"
    """The power until the next reading; the log has only changes."""


@dataclass(frozen=True)
class LogProblem:
    """A problem of a log at one of its lines."""

    kind: str
    line: int
    """Counts from 1; 0 for the log as a whole."""
    found: str
    advice: str

    def to_json(self) -> dict[str, Any]:
        """The entry of `problems` in the JSON output."""
        return dict(vars(self))


class Problems:
    """Collects the problems of a log: the first of each kind one by one, the others as a count."""

    def __init__(self) -> None:
        self._listed: dict[str, list[LogProblem]] = {}
        self._counts: dict[str, int] = {}

    def add(self, kind: str, line: int, found: str, advice: str) -> None:
        """Add a problem."""
        listed = self._listed.setdefault(kind, [])
        self._counts[kind] = self._counts.get(kind, 0) + 1
        if len(listed) < MAX_PROBLEMS_OF_A_KIND:
            listed.append(LogProblem(kind, line, found, advice))

    def count(self, kind: str) -> int:
        """How many problems of a kind there are, listed or not."""
        return self._counts.get(kind, 0)

    def find_first(self, kind: str) -> LogProblem:
        """The first problem of a kind that has one."""
        return self._listed[kind][0]

    def list_all(self) -> tuple[LogProblem, ...]:
        """The problems by kind, and for each kind with more problems an entry that counts them."""
        problems = []
        for kind, listed in self._listed.items():
            problems += listed
            if (others := self._counts[kind] - len(listed)) > 0:
                last = listed[-1]
                problems.append(
                    replace(last, found=f"{others} more after line {last.line}, not listed")
                )
        return tuple(problems)


Layout = tuple[tuple[str, str], ...]
"""What the values of a reading are: pairs of feed and quantity, such as `("Ch1", "power_w")`."""


@dataclass(frozen=True, slots=True)
class LogReading:
    """One reading of a log: one instant, one or several feeds."""

    line: int
    time_ns: int
    """Since 1970-01-01 UTC; of a log without time zone, as if its local time were UTC; of a log
    with elapsed times, since its time 0."""
    layout: Layout
    values: tuple[float, ...]
    """One for each entry of the layout."""
    series: str = ""
    """Readings of one series have times of their own."""


@dataclass(frozen=True)
class Series:
    """The n readings of feeds that were read together, in the order of their lines."""

    lines: Ints
    """Line numbers from 1, shape (n,)."""
    times_ns: Ints
    """Shape (n,); see `LogReading.time_ns`."""
    columns: Mapping[tuple[str, str], Floats]
    """Values by feed and quantity, each of shape (n,)."""

    def __len__(self) -> int:
        return len(self.times_ns)

    @property
    def feeds(self) -> list[str]:
        """The feeds, in the order of the log."""
        return list(dict.fromkeys(feed for feed, _ in self.columns))

    @property
    def power_w(self) -> Floats:
        """Power of all feeds together in W, shape (n,)."""
        total_w: Floats = np.sum([self.columns[feed, POWER] for feed in self.feeds], axis=0)
        return total_w

    @property
    def times_s(self) -> Floats:
        """Times in s since the first reading, shape (n,)."""
        times_s: Floats = (self.times_ns - self.times_ns[:1]) / 1e9
        return times_s

    def head_feeds(self, prefix: str) -> "Series":
        """The series with a prefix before the names of its feeds."""
        columns = {(prefix + feed, name): values for (feed, name), values in self.columns.items()}
        return replace(self, columns=columns)

    def select(self, feeds: Collection[str]) -> "Series":
        """The series of some of its feeds."""
        columns = {key: values for key, values in self.columns.items() if key[0] in feeds}
        return replace(self, columns=columns)

    def at(self, rows: Mask | Ints) -> "Series":
        """The series restricted to some of its readings."""
        columns = {key: values[rows] for key, values in self.columns.items()}
        return replace(self, lines=self.lines[rows], times_ns=self.times_ns[rows], columns=columns)


@dataclass(frozen=True)
class LeftOut:
    """What was left out of a log, and what it may change."""

    readings: int = 0
    used: int = 0
    energy_bound_j: float = 0.0
    """How much energy may be missing or too much where readings were left out or are missing."""


@dataclass(frozen=True)
class PowerLog:
    """The readings of a log."""

    format: str
    series: tuple[Series, ...]
    """Feeds with times of their own, such as those that a key column names."""
    time_zone: str | None
    """None: local times without a time zone, or elapsed times."""
    interval: Interval
    elapsed: bool = False
    """Whether times count from a start that nobody states."""
    from_start: bool = False
    """Whether the log has times that count from a start."""
    has_local_times: bool = False
    """Whether a time zone had to be applied or would have to be."""
    adds: bool = True
    """Whether the powers of the feeds add up."""
    overlap: str = ""
    """Why they do not, and what to do, if the format knows."""
    part: str = ""
    """What the log measures if that is no whole node, such as `accelerators`."""
    nodes: tuple[str, ...] | None = None
    """The nodes that the log names; None if it names none."""
    current: str | None = None
    """`ac` or `dc`; None if the log does not state it."""
    conversion_efficiency: float | None = None
    """Efficiency of the conversion to direct current that the log states. The readings are as
    metered: they are not multiplied by it."""
    begin_ns: int | None = None
    """When the first interval of a log of means begins, if that is not its first reading."""
    window_ns: tuple[int, int] | None = None
    """Start and end of the measurement that the log itself states."""
    left_out: LeftOut = LeftOut()
    problems: Problems = field(default_factory=Problems)

    def __len__(self) -> int:
        return sum(map(len, self.series))

    @property
    def feeds(self) -> list[str]:
        """The feeds, in the order of the log."""
        return [feed for series in self.series for feed in series.feeds]

    @property
    def start_ns(self) -> int:
        """The first time of a reading."""
        return min(int(series.times_ns.min()) for series in self.series)

    @property
    def end_ns(self) -> int:
        """The last time of a reading."""
        return max(int(series.times_ns.max()) for series in self.series)

    def select(self, feeds: Collection[str]) -> "PowerLog":
        """The log of some of its feeds."""
        chosen = [series.select(feeds) for series in self.series]
        return replace(self, series=tuple(series for series in chosen if series.columns))

    def find_series(self, feed: str) -> Series:
        """The series of a feed."""
        return next(series for series in self.series if feed in series.feeds)
