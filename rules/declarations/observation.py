"""What observation.json declares, as typed records."""

from dataclasses import dataclass

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
class ObservedMeter(JsonRecord):
    """The meter of the log."""

    model: str
    scope: str
    format: str
    time_zone: str
    interval: str
    feeds: tuple[str, ...]
    left_out: int


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
