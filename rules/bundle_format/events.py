"""The events of a run: what the harness did and when, as typed records and as lines of
events.jsonl.gz."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

from rules.bundle_format.documents import MAX_VALUES, count_values, read_document
from rules.bundle_format.files import Refused, build_size_refusal
from rules.bundle_format.records import EVENT_FORMAT, EVENTS_FILE, Json
from rules.finding import Problem
from rules.json_record import from_json, to_json

MAX_EVENTS = 32_768
"""Limit of a file. An attempt has about 15 events per accelerator and 20 more, so four attempts of
512 accelerators fit."""
_MAX_PROBLEMS = 5


@dataclass(frozen=True, kw_only=True)
class Event:
    """The fields that all events have."""

    KIND_KEY: ClassVar[str] = "event"
    kind: ClassVar[str]
    """The name of the event in the file."""
    node: str
    """The node that recorded it, as system.json names it."""
    attempt: int
    """The attempt at the run, from 1. A run that was resumed has events of several attempts."""
    time_ns: int
    """When it was recorded, on the monotonic clock of the node."""


@dataclass(frozen=True, kw_only=True)
class RunStarted(Event):
    """An attempt began on a node, with this plan."""

    kind = "run-started"
    workload: str
    variant: str
    size: str
    standing: str
    meter: str
    nodes: int
    accelerators: int
    """How many of this node take part."""
    cap_w: float | None
    """The power cap of every accelerator, in W; None if the meter has no power limit."""
    batch_size: int
    """As planned: with `--batch auto` the batch trials change it."""
    epochs: int
    epoch_target_s: float


@dataclass(frozen=True, kw_only=True)
class BatchTrial(Event):
    """`--batch auto` tried a batch size."""

    kind = "batch-trial"
    batch_size: int
    outcome: str
    """`ok`, `out-of-memory` or `failed`."""
    items_per_s: float | None
    peak_memory_bytes: int | None


@dataclass(frozen=True, kw_only=True)
class RankBuilt(Event):
    """A rank built its model."""

    kind = "rank-built"
    rank: int
    accelerators: tuple[str, ...]
    """UUIDs."""
    precision: str
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Calibrated(Event):
    """The number of batches of an epoch was decided."""

    kind = "calibrated"
    batch_size: int
    """Samples per batch, or requests in flight."""
    batches_per_epoch: int
    batch_s: float


@dataclass(frozen=True, kw_only=True)
class PhaseEnded(Event):
    """A phase before the first epoch ended on a node."""

    kind = "phase-ended"
    phase: str
    """`bare`, `start-up`, `build`, `resident`, `warm-up` or `calibration`."""
    start_ns: int
    """Start and, in `end_ns`, end of the phase on the monotonic clock of the node. All ranks of the
    node are in the phase `resident` during this time; at least one is in any other phase."""
    end_ns: int


@dataclass(frozen=True, kw_only=True)
class LimitsReadBack(Event):
    """The power limits of an accelerator were read back."""

    kind = "limits-read-back"
    when: str
    """`before`, `epoch-N` or `after`."""
    accelerator: str
    requested_mw: int | None
    enforced_mw: int | None


@dataclass(frozen=True, kw_only=True)
class EpochEnded(Event):
    """All ranks of a node ended an epoch."""

    kind = "epoch-ended"
    epoch: int
    items: int
    """Of all ranks of the node."""
    start_ns: int
    """Start of the first batch of the epoch on this node, on its monotonic clock."""
    end_ns: int
    """End of the last one."""


@dataclass(frozen=True, kw_only=True)
class WorkersEnded(Event):
    """The worker processes of a node ended; `status` is the exit status of their launcher, None if
    it had not ended in time."""

    kind = "workers-ended"
    status: int | None


@dataclass(frozen=True, kw_only=True)
class AttemptEnded(Event):
    """An attempt ended on a node. An attempt that was killed has no such event."""

    kind = "attempt-ended"
    outcome: str
    """`finished`, `interrupted` or `failed`."""
    signal: str | None
    """The signal that interrupted it, such as `SIGTERM`."""
    error: str | None
    """The type of the error that ended it. Its text may name paths, so it is not recorded."""


KINDS: dict[str, type[Event]] = {kind.kind: kind for kind in Event.__subclasses__()}


def event_to_json(event: Event) -> Json:
    """Return the event as the JSON object of a line of events.jsonl.gz."""
    return {"format": EVENT_FORMAT, **to_json(event)}


def event_from_json(value: Json) -> Event:
    """Return the event in a JSON object that is valid by `event-1.json`. Ignores keys `x-…`. Raises
    RecordError."""
    return from_json(Event, value, is_validated=True)


def encode_events(events: Iterable[Event]) -> bytes:
    """Return the text of events.jsonl: one JSON object a line, the same bytes for the same
    events."""
    return b"".join(
        json.dumps(
            event_to_json(event), sort_keys=True, ensure_ascii=False, allow_nan=False
        ).encode()
        + b"\n"
        for event in events
    )


def read_events(text: bytes) -> tuple[Event, ...]:
    """Read the unpacked text of events.jsonl.gz. Raises Refused, with the numbers of the lines."""
    line_count = text.count(b"\n") + (not text.endswith(b"\n"))
    if line_count > MAX_EVENTS:
        raise build_size_refusal(EVENTS_FILE, f"{line_count} lines", f"at most {MAX_EVENTS} lines")
    if count_values(text) > MAX_VALUES:
        raise build_size_refusal(
            EVENTS_FILE, f"more than {MAX_VALUES} values", f"at most {MAX_VALUES} values"
        )
    events: list[Event] = []
    problems: list[Problem] = []
    for number, line in enumerate(text.removesuffix(b"\n").split(b"\n") if text else [], 1):
        try:
            events.append(event_from_json(read_document(EVENTS_FILE, line, EVENT_FORMAT)))
        except Refused as refusal:
            problems += [_add_line_number(number, problem) for problem in refusal.problems]
        # A damaged file can have a problem in every line.
        if len(problems) >= _MAX_PROBLEMS:
            break
    if problems:
        raise Refused(*problems[:_MAX_PROBLEMS])
    return tuple(events)


def _add_line_number(number: int, problem: Problem) -> Problem:
    """Return the problem with the number of its line before the JSON pointer within the line."""
    place = f"line {number} {problem.violation.pointer}".rstrip()
    return replace(problem, violation=replace(problem.violation, pointer=place))
