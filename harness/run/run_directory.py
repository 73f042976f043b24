"""The directory of an unfinished run: `.RUN_ID.running`, beside its future bundle.

It contains the plan, the files of sampler and workers, the events of the run, the log, and the
state of the run in `state.json`. The process that carries out the run holds a lock on the
directory. The lock ends with the process.
"""

import contextlib
import fcntl
import json
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from harness.errors import PlanError
from harness.interrupts import Interrupted
from harness.run.plan import PLAN_FILE, Plan
from rules.bundle_format.csv_table import read_table
from rules.bundle_format.events import (
    AttemptEnded,
    Event,
    RunStarted,
    encode_events,
    event_from_json,
)
from rules.bundle_format.files import Refused
from rules.bundle_format.records import BATCH_COLUMNS
from rules.bundle_format.table import Table
from rules.metrics.energy import MetricsError

LOG_FILE = "log.txt"
STATE_FILE = "state.json"
_LOCK_FILE = "lock"
EVENTS_FILE = "events.jsonl"
ATTEMPT_PREFIX = "attempt-"
"""Prefix of the directories that keep the files of earlier attempts, such as `attempt-1`."""


class RunEvents:
    """The events of one attempt on one node. Each is written to `events.jsonl` when it is added.
    The context manager closes the file."""

    def __init__(self, directory: Path, node: str, attempt: int) -> None:
        self._file = (directory / EVENTS_FILE).open("ab")
        self._node, self._attempt = node, attempt

    def __enter__(self) -> "RunEvents":
        return self

    def __exit__(self, *exception: object) -> None:
        self._file.close()

    def add(self, event_class: type[Event], **fields: Any) -> None:
        """Record an event with these fields and the present time. Raises OSError."""
        event = event_class(
            node=self._node, attempt=self._attempt, time_ns=time.monotonic_ns(), **fields
        )
        self._file.write(encode_events([event]))
        # To the kernel, so that a killed process loses no event. A power cut may damage the last
        # line, which `read_recorded_events` then leaves out.
        self._file.flush()

    def start(self, plan: Plan) -> None:
        """Record that an attempt at the plan begins. Raises OSError."""
        self.add(
            RunStarted,
            workload=plan.configuration.workload,
            variant=plan.configuration.variant,
            size=plan.configuration.size,
            standing=plan.standing,
            meter=plan.meter,
            nodes=plan.nodes,
            accelerators=len(plan.devices),
            cap_w=plan.cap_w,
            batch_size=plan.configuration.batch_size,
            epochs=plan.epochs,
            epoch_target_s=plan.configuration.epoch_s,
        )

    def end_attempt(
        self, outcome: str = "finished", signal: str | None = None, error: str | None = None
    ) -> None:
        """Record how the attempt ended. The arguments are the fields of `AttemptEnded`. Raises
        OSError."""
        self.add(AttemptEnded, outcome=outcome, signal=signal, error=error)


def read_recorded_events(directory: Path) -> tuple[Event, ...]:
    """Return the events of all attempts at the run in `directory`, the earliest attempt first.

    Lines that are incomplete or damaged are left out.
    """
    earlier_files = sorted(
        directory.glob(f"{ATTEMPT_PREFIX}*/{EVENTS_FILE}"),
        # As numbers: as text, attempt-10 would come before attempt-2.
        key=lambda path: int(path.parent.name.removeprefix(ATTEMPT_PREFIX)),
    )
    events = []
    for path in (*earlier_files, directory / EVENTS_FILE):
        for line in path.read_bytes().splitlines():
            # A power cut may leave an incomplete or damaged line.
            with contextlib.suppress(ValueError, LookupError, TypeError):
                events.append(event_from_json(json.loads(line)))
    return tuple(events)


@contextmanager
def track_attempt(plan: Plan, directory: Path) -> Iterator[RunEvents]:
    """Lock `directory` while the block carries out `plan`, and record the state of the run there:
    running, interrupted, failed or finished. Yields the event list of the attempt.

    Raises PlanError if another process has the lock, OSError if the directory cannot be written.
    """
    with hold_directory(directory), RunEvents(directory, plan.node_name, plan.attempt) as events:
        plan.save(directory)
        write_state(directory, status="running", reason=None, finished_epochs=0)
        try:
            yield events
        except BaseException as error:
            is_signal = isinstance(error, Interrupted | KeyboardInterrupt)
            status = "interrupted" if is_signal else "failed"
            name = type(error).__name__
            reason = str(error) or name
            # KeyboardInterrupt has no text: Python raises it for SIGINT.
            signal = (str(error) or "SIGINT") if is_signal else None
            # A full disk may be the reason for the failure. Report the first error, not this one.
            with contextlib.suppress(OSError):
                write_state(directory, status=status, reason=reason)
            with contextlib.suppress(OSError):
                events.end_attempt(status, signal, None if is_signal else name)
            raise
        write_state(directory, status="finished")


def write_state(directory: Path, **changes: Any) -> None:
    """Change `status`, `reason` or `finished_epochs` in `state.json`. Raises OSError."""
    path = directory / STATE_FILE
    state = json.loads(path.read_text()) if path.exists() else {}
    # A rename is atomic. Readers see the former or the new state and never an incomplete one.
    draft = path.with_suffix(".writing")
    draft.write_text(json.dumps({**state, **changes}) + "\n")
    draft.rename(path)


def load_unfinished_plan(directory: Path) -> Plan:
    """Return the plan of the unfinished run in `directory`. Raises PlanError if there is no plan,
    if the run is finished, or if another process carries it out."""
    plan = Plan.load(directory)
    path = directory / STATE_FILE
    try:
        status = json.loads(path.read_text())["status"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PlanError(
            f"{path}: the state of the run cannot be read ({error}); start the run anew"
        ) from None
    target = directory.parent / plan.run_id
    if status == "finished" or target.exists():
        raise PlanError(f"{directory}: the run is finished; its bundle is {target}")
    # The state may be that of a killed process. Only the lock shows whether a process runs.
    with hold_directory(directory):
        return plan


def put_aside(directory: Path, plan: Plan) -> Plan:
    """Move the files of the last attempt to `attempt-N` and return the plan of the next.

    The eleven epochs belong to one uninterrupted run, so each attempt starts from the beginning.
    The files of earlier attempts are kept until the bundle is complete. Plan and state are copied:
    if the next attempt never begins, the run can be resumed once more.
    """
    attempt_directory = directory / f"{ATTEMPT_PREFIX}{plan.attempt}"
    attempt_directory.mkdir(exist_ok=True)
    for path in list(directory.iterdir()):
        if path.name in (PLAN_FILE, STATE_FILE):
            shutil.copy2(path, attempt_directory)
        elif not path.name.startswith(ATTEMPT_PREFIX) and path.name != _LOCK_FILE:
            path.rename(attempt_directory / path.name)
    return plan.make_next_attempt()


@contextmanager
def hold_directory(directory: Path) -> Iterator[None]:
    """Hold the lock on `directory` while the block runs. Raises PlanError if another process has
    it."""
    # A lock and not a process id in a file: the kernel releases it when the process ends, and a
    # later process with the same id does not hold it.
    with (directory / _LOCK_FILE).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PlanError(
                f"{directory}: another process is still running it; wait for its end"
            ) from None
        yield


def read_texts(name: str, texts: Iterable[str]) -> Table:
    """Read the table `name` of a bundle from the CSV texts that samplers or workers have written,
    one below the other. Each text has a header. Raises rules.metrics.energy.MetricsError."""
    tables = [text for text in texts if text]
    if not tables:
        raise MetricsError(f"there are no rows of {name}; did the implementation run any batch?")
    # The table has one header. Those of the other texts are removed.
    header = tables[0].partition("\n")[0] + "\n"
    rows = "".join(text.removeprefix(header) for text in tables)
    try:
        return read_table(name, (header + rows).encode())
    except Refused as refusal:
        violation = refusal.problems[0].violation
        raise MetricsError(
            f"{name}, {violation.pointer}: found {violation.found}, expected {violation.expected}"
        ) from None


def sort_batches(batches: Table) -> Table:
    """Return the batches ordered by epoch, rank and batch."""
    # `lexsort` sorts by its last key first.
    order = np.lexsort([batches.ints(name) for name in ("batch", "rank", "epoch")])
    return Table.of({name: batches.ints(name)[order] for name in BATCH_COLUMNS})
