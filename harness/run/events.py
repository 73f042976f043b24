"""Records the events of a run in its directory, so that they survive whatever ends the attempt."""

import json
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from harness.run.plan import Plan
from rules.bundle_format.events import (
    AttemptEnded,
    Event,
    RunStarted,
    encode_events,
    event_from_json,
)

EVENTS_FILE = "events.jsonl"
KEPT_ATTEMPT = "attempt-"
"""What the names of the directories begin with that keep the files of earlier attempts."""


class RunEvents:
    """The events of one attempt on one node, each written to `events.jsonl` when it is added; a
    context manager that closes the file."""

    def __init__(self, directory: Path, node: str, attempt: int) -> None:
        self._file = (directory / EVENTS_FILE).open("ab")
        self._node, self._attempt = node, attempt

    def __enter__(self) -> "RunEvents":
        return self

    def __exit__(self, *exception: object) -> None:
        self._file.close()

    def add(self, kind: type[Event], **facts: Any) -> None:
        """Record an event of this kind now; `facts` are its fields. Raises OSError."""
        event = kind(node=self._node, attempt=self._attempt, time_ns=time.monotonic_ns(), **facts)
        self._file.write(encode_events([event]))
        # To the kernel, so that a killed process loses no event. `read_recorded` skips what a power
        # cut damages.
        self._file.flush()

    def start(self, plan: Plan) -> None:
        """Record that an attempt at the plan begins. Raises OSError."""
        self.add(
            RunStarted,
            workload=plan.workload,
            variant=plan.variant,
            size=plan.size,
            standing=plan.standing,
            meter=plan.meter,
            nodes=plan.nodes,
            accelerators=len(plan.devices),
            cap_w=plan.cap_w,
            batch_size=plan.batch_size,
            epochs=plan.epochs,
            epoch_target_s=plan.epoch_s,
        )

    def end_attempt(
        self, outcome: str = "finished", signal: str | None = None, error: str | None = None
    ) -> None:
        """Record how the attempt ended; see `AttemptEnded`. Raises OSError."""
        self.add(AttemptEnded, outcome=outcome, signal=signal, error=error)


def read_recorded(directory: Path) -> tuple[Event, ...]:
    """Return the events of all attempts at the run in `directory`, the earliest attempt first.

    A line that a killed attempt left incomplete is left out.
    """
    earlier = sorted(
        directory.glob(f"{KEPT_ATTEMPT}*/{EVENTS_FILE}"),
        # As numbers: as text, attempt-10 would come before attempt-2.
        key=lambda path: int(path.parent.name.removeprefix(KEPT_ATTEMPT)),
    )
    events = []
    for path in (*earlier, directory / EVENTS_FILE):
        for line in path.read_bytes().splitlines():
            # A power cut may leave an incomplete or damaged line.
            with suppress(ValueError, LookupError, TypeError):
                events.append(event_from_json(json.loads(line)))
    return tuple(events)
