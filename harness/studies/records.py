"""The records of finished entries of a study. Each is a file in the directory of its session."""

from collections.abc import Iterable
from dataclasses import dataclass

from harness.studies.plan import StudyEntry
from rules.bundle_format.records import Json
from rules.study_contract import ModelFacts

FAILED_PREFIX = "failed: "
"""Begins the reason of an entry whose worker died. Such an entry is measured again on resume."""


@dataclass(frozen=True)
class PartWindow:
    """A part of a window, on the monotonic clock of the node."""

    batches: int
    start_ns: int
    end_ns: int


@dataclass(frozen=True)
class MeasuredPoint:
    """A window at a batch size, or the end of a ladder. The fields have the names of
    `rules.bundle_format.study_records.Point`."""

    kind: str
    batch: int
    outcome: str
    start_ns: int
    end_ns: int
    peak_bytes: int = 0
    parts: tuple[PartWindow, ...] = ()
    joules_per_image: float | None = None
    """By `rules.studies.metrics.ladder_energy`. The bundle does not contain it."""

    @property
    def items(self) -> int:
        """Images in the window."""
        return self.batch * sum(part.batches for part in self.parts)

    @property
    def duration_s(self) -> float:
        """Length of the window."""
        return (self.end_ns - self.start_ns) / 1e9


@dataclass(frozen=True)
class EntryRecord:
    """The outcome of an entry, or of a measurement of the anchor."""

    entry: StudyEntry
    status: str
    """`measured` or `skipped`."""
    reason: str | None
    """Why it was skipped."""
    session: int
    accelerator: str
    """UUID."""
    is_anchor: bool
    facts: ModelFacts | None
    points: tuple[MeasuredPoint, ...]
    """Empty if it was skipped."""
    readback: Json
    """Limits and state of the board after it."""
    start_ns: int
    end_ns: int
    ended_at: str
    """In UTC."""

    @property
    def duration_s(self) -> float:
        """How long the entry took, with building the model."""
        return (self.end_ns - self.start_ns) / 1e9

    @property
    def has_failed(self) -> bool:
        """Whether its worker died, and the entry can be tried again."""
        return self.reason is not None and self.reason.startswith(FAILED_PREFIX)


def find_best(points: Iterable[MeasuredPoint]) -> MeasuredPoint:
    """The point of least energy per image among those that ran, of which there is at least one."""
    return min(
        (point for point in points if point.joules_per_image is not None),
        key=lambda point: point.joules_per_image or 0.0,
    )
