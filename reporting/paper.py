"""Typed records of published figures (schema `published-1`)."""

from dataclasses import dataclass

from rules.declarations.quotation import Quotation
from rules.declarations.record import JsonRecord
from rules.metrics.sweeps.best_settings import MetricName


@dataclass(frozen=True)
class PublishedRow(JsonRecord):
    """A figure as a paper prints it. The row is marked only if the file quotes what the objection
    rests on: without quotations, `comparison`, `caution` and the check of the peak do not count."""

    workload: str
    accelerator: str
    cap_w: float
    """Per accelerator."""
    items_per_s_per_accelerator: float
    cap_enforced: bool
    table: str
    """The table of the paper that has the figure."""
    comparison: str | None
    """What may be compared with other results: `level`, `shape` or `none`. None means `level`."""
    caution: str | None
    quotes: tuple[Quotation, ...] | None
    """What the objection to the row rests on."""

    @property
    def objection(self) -> str | None:
        """The caution with its quotations; None without them."""
        if not self.quotes:
            return None
        quoted = "; ".join(map(str, self.quotes))
        return f"{self.caution} Quoted: {quoted}." if self.caution else f"Quoted: {quoted}."


@dataclass(frozen=True)
class PublishedNode(JsonRecord):
    """The power of a whole node as a publication states it, in W. None: not stated."""

    accelerator: str
    accelerators: int
    work: str
    control: bool
    """Whether this is a control run, which loads the node as much as possible."""
    mean_w: float | None
    median_w: float | None
    max_w: float | None
    p99_60s_w: float | None
    """99th percentile of all means over 60 s."""
    rated_w: float | None
    beside_boards_low_w: float | None
    """Of the power above that of the boards, per accelerator."""
    beside_boards_high_w: float | None
    place: str
    """Where the publication has these figures."""


@dataclass(frozen=True)
class PublishedGain(JsonRecord):
    """The best gain of a sweep over the power cap by a metric. None: not stated."""

    accelerator: str
    accelerators: int
    metric: MetricName
    k: float | None
    """The allowed ratio of time of EDS."""
    cap_w: float | None
    """Of the best setting, per accelerator."""
    reference_cap_w: float
    gain_percent: float
    """Of gain minus extra time: in percentage points."""
    rounded: bool
    """Whether the publication calls the figure approximate."""
    place: str
    caution: str | None


@dataclass(frozen=True)
class PublishedWork(JsonRecord):
    """Time and energy of a node for a fixed amount of work. None: not stated."""

    accelerator: str
    accelerators: int
    work: str
    items: float
    item: str
    """What an item is, in the singular."""
    cap_w: float | None
    """Per accelerator."""
    batch_size: int | None
    seconds: float
    energy_j: float | None
    """This and the next are those of the whole node."""
    median_w: float | None
    derived: bool
    """Whether the duration is derived from other printed figures."""
    place: str
    caution: str | None


@dataclass(frozen=True)
class Paper(JsonRecord):
    """A paper and its figures."""

    id: str
    standing: str
    title: str
    authors: str
    """Names, separated by commas."""
    year: int
    url: str
    notes: str
    accelerators_per_run: int | None
    rows: tuple[PublishedRow, ...] | None
    nodes: tuple[PublishedNode, ...] | None
    gains: tuple[PublishedGain, ...] | None
    fixed_work: tuple[PublishedWork, ...] | None

    @property
    def citation(self) -> str:
        """Such as `Mayr et al. 2026`."""
        return cite(self.authors, self.year)

    @property
    def link(self) -> str | None:
        """The address of the paper; None if it is not a web address."""
        return keep_web_address(self.url)


def cite(authors: str, year: int) -> str:
    """Such as `Mayr et al. 2026`. Names of authors are separated by commas."""
    first, *others = authors.split(",")
    return f"{first.split()[-1]}{' et al.' if others else ''} {year}"


def keep_web_address(url: str) -> str | None:
    """The address; None if it is not a web address.

    Only web addresses become links, because the file of a paper comes from strangers.
    """
    # A `javascript:` link would run code when a reader clicks on it.
    return url if url.startswith(("https://", "http://")) else None
