"""The directory of a run on its way: `.RUN_ID.running`, beside the bundle-to-be.

It holds the plan, the files of sampler and workers so far, the log, and `state.json` with the state
of the run, which is correct however the run ends. The process that works on the run holds a lock on
the directory. The lock ends with the process.
"""

import contextlib
import fcntl
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness.interrupts import Interrupted
from harness.run.events import KEPT_ATTEMPT, RunEvents
from harness.run.plan import PLAN_FILE, Plan, PlanError

LOG_FILE = "log.txt"
STATE_FILE = "state.json"
_LOCK_FILE = "lock"


@contextmanager
def attempt(plan: Plan, directory: Path) -> Iterator[RunEvents]:
    """Hold `directory` while the block carries out `plan`, and keep its state: running,
    interrupted, failed or finished. Yields the event list of the attempt.

    Raises PlanError where another process holds it, OSError where it cannot be written.
    """
    with held(directory), RunEvents(directory, plan.node_name, plan.attempt) as events:
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
            # A full disk may be the reason for the failure. The first error is the one to report.
            with contextlib.suppress(OSError):
                write_state(directory, status=status, reason=reason)
            with contextlib.suppress(OSError):
                events.end_attempt(status, signal, None if is_signal else name)
            raise
        write_state(directory, status="finished")


def write_state(directory: Path, **changes: Any) -> None:
    """Change what `state.json` says of `status`, `reason` and `finished_epochs`; it is replaced as
    a whole."""
    path = directory / STATE_FILE
    state = json.loads(path.read_text()) if path.exists() else {}
    # Readers, such as a sweep that resumes, see the former or the new state and never half of one.
    draft = path.with_suffix(".writing")
    draft.write_text(json.dumps({**state, **changes}) + "\n")
    draft.rename(path)


def unfinished(directory: Path) -> Plan:
    """The plan of the run in `directory`. Raises PlanError where there is none, or none that is
    left to be run again."""
    plan = Plan.load(directory)
    path = directory / STATE_FILE
    try:
        status = json.loads(path.read_text())["status"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PlanError(f"{path}: no state of a run there that can be read ({error})") from None
    target = directory.parent / plan.run_id
    if status == "finished" or target.exists():
        raise PlanError(f"{directory}: the run is finished; its bundle is {target}")
    # A process that works on the run would be disturbed. The lock shows it, whatever the state file
    # says.
    with held(directory):
        return plan


def put_aside(directory: Path, plan: Plan) -> Plan:
    """Move the files of the last attempt to `attempt-N` and return the plan of the next.

    The eleven epochs belong to one uninterrupted run, so an attempt begins anew; what the last one
    left is kept until a bundle stands. Plan and state stay as well, until the attempt replaces
    them: if it never begins, another one can.
    """
    kept = directory / f"{KEPT_ATTEMPT}{plan.attempt}"
    kept.mkdir(exist_ok=True)
    for path in list(directory.iterdir()):
        if path.name in (PLAN_FILE, STATE_FILE):
            shutil.copy2(path, kept)
        elif not path.name.startswith(KEPT_ATTEMPT) and path.name != _LOCK_FILE:
            path.rename(kept / path.name)
    return plan.again()


@contextmanager
def held(directory: Path) -> Iterator[None]:
    """Hold the lock on `directory` while the block runs. Raises PlanError where another process has
    it."""
    # A lock instead of a process id in a file: it ends with the process, and no other process
    # inherits it.
    with (directory / _LOCK_FILE).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PlanError(f"{directory}: another process is still running it") from None
        yield
