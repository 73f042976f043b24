"""What observation.json declares, as typed records."""

from dataclasses import dataclass

from rules.bundle_format.records import Json
from rules.declarations.record import JsonRecord


@dataclass(frozen=True)
class ObservedItems(JsonRecord):
    """The work that a job did in the window."""

    count: float
    name: str
    source: str


@dataclass(frozen=True)
class ObservedWork(JsonRecord):
    """What ran. None: not stated."""

    what: str
    slurm_job: str | None
    items: ObservedItems | None


@dataclass(frozen=True)
class ObservedNode(JsonRecord):
    """The nodes that the log covers."""

    system: str
    count: int
    accelerator: str
    accelerators: int
    """In a node."""
    rated_w: float | None
    """Of a node."""


@dataclass(frozen=True)
class LogFile(JsonRecord):
    """One log in node_log.gz."""

    name: str
    lines: int
    format: str


@dataclass(frozen=True)
class LogReadingDeclaration(JsonRecord):
    """How node_log.gz was read. None: not declared."""

    logs: tuple[LogFile, ...]
    map: Json | None
    """The document of the map of a table."""
    time_zone: str | None
    start: str | None
    every_s: float | None
    rating_w: float | None


@dataclass(frozen=True)
class ObservedMeter(JsonRecord):
    """The meter of the log."""

    model: str
    scope: str
    format: str
    time_zone: str
    interval: str
    feeds: tuple[str, ...]
    left_out: int
    reading: LogReadingDeclaration | None
    """None in bundles before it was recorded."""


@dataclass(frozen=True)
class ObservationDeclaration(JsonRecord):
    """What observation.json declares, without the figures."""

    rules_version: str
    standing: str
    observation_id: str
    started_at: str
    ended_at: str
    job: ObservedWork
    node: ObservedNode
    meter: ObservedMeter
