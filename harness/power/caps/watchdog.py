"""The watchdog process of a run that sets power limits: `python -m harness.power.caps.watchdog
JOURNAL [CONTENT]`.

It waits for its standard input to close, which Linux does when the harness ends in any way, also by
SIGKILL. Unless the harness has said that all is restored, it then restores the limits that it keeps
in memory, whatever became of the journal, and tries again after growing pauses if a board or the
meter refuses. It leaves boards alone that were restored since or that belong to another run. It
ends if the boards were simulated and their simulator has ended. If it cannot restore (the power
failed, or the watchdog was killed too), the journal stays, no run starts on these boards, and
`bench-submit restore` restores the limits. What it does on real boards is in the system log too.
"""

import contextlib
import json
import os
import select
import subprocess
import sys
import syslog
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path

from harness import interrupts
from harness.errors import BoardsEndedError, MeterError
from harness.power.caps.journal import BlockedError, Journal, SavedLimit, lock_directory
from harness.power.caps.registry import is_registered_by, remove_journal
from harness.power.caps.restore import open_all_boards, restore_boards
from harness.power.sources import open_source, source_class

READY_TIMEOUT_S = 60.0
END_TIMEOUT_S = 10.0
PAUSES_S = tuple(2.0**n for n in range(12))
"""The pauses before further attempts to restore: 1 s, doubled until they add up to over an hour. A
busy driver needs seconds, a driver that is loaded again needs minutes."""
STEP_S = 0.5
"""How often a waiting watchdog checks that boards are still those of its run."""
RESTORED = "restored"
"""What the harness says before it closes the standard input, if nothing is left to restore."""


class WatchdogError(MeterError):
    """The watchdog ended and no other one starts. Nothing would restore the limits if the run were
    killed."""


class Watchdog:
    """The harness's handle of the watchdog process, which lives until `end`."""

    def __init__(self, path: Path, journal: Journal) -> None:
        """Start the watchdog of `journal`, which is at `path`. Raises WatchdogError."""
        self._path, self._journal = path, journal
        try:
            self._process = self._start()
        except WatchdogError as error:
            raise WatchdogError(f"{error}, so no limit was set") from None

    def ensure_running(self) -> None:
        """Start another watchdog if this one has ended. Raises WatchdogError if none starts."""
        if self._process.poll() is None:
            return
        try:
            self._process = self._start()
        except WatchdogError as error:
            raise WatchdogError(f"the run was ended: its watchdog died, and {error}") from None

    def end(self, is_restored: bool) -> None:
        """Close its standard input, and wait for its end if all boards are restored."""
        assert self._process.stdin is not None and self._process.stdout is not None
        with contextlib.suppress(OSError):
            if is_restored:
                self._process.stdin.write(RESTORED)
            self._process.stdin.close()
        # The watchdog has no more to say. It ignores a closed pipe.
        self._process.stdout.close()
        if is_restored:
            try:
                self._process.wait(END_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def _start(self) -> "subprocess.Popen[str]":
        content = json.dumps(asdict(self._journal))
        command = [sys.executable, "-m", "harness.power.caps.watchdog", str(self._path), content]
        try:
            process = subprocess.Popen(
                command,
                # Python must not import modules from the working directory of the user.
                env={**os.environ, "PYTHONSAFEPATH": "1"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                # A signal to the process group of the harness does not end it.
                start_new_session=True,
            )
        except OSError as error:
            raise WatchdogError(
                f"the watchdog that would restore the limits cannot be started ({error.strerror})"
            ) from None
        assert process.stdout is not None
        # `select` first, because `readline` has no timeout.
        is_readable = bool(select.select([process.stdout], [], [], READY_TIMEOUT_S)[0])
        if not is_readable or process.stdout.readline() != "ready\n":
            process.kill()
            process.wait()
            raise WatchdogError(
                "the watchdog that would restore the limits did not start (its error is above)"
            )
        return process


def watch(path: Path, content: str | None = None) -> None:
    """The watchdog: print `ready`, wait for the end of the standard input, and restore what the
    journal holds: its `content`, or that of the file at `path`."""
    # Slurm and a closed terminal signal all processes. The watchdog must outlive the harness.
    interrupts.ignore_all_signals()
    # The file may be lost, damaged or altered before this process starts.
    journal = Journal.read(path) if content is None else Journal.parse(content)
    if journal is None:
        return
    # A source that cannot be used is reported before any limit is set, while the run can still end.
    with closing(open_source(journal.meter)) as source:
        visible = {device.uuid for device in source.devices()}
        if missing := {limit.uuid for limit in journal.accelerators} - visible:
            raise MeterError(
                f"the meter {journal.meter} does not show {', '.join(sorted(missing))}"
            )
    with contextlib.suppress(OSError):  # the harness may have ended already
        print("ready", flush=True)
    # Returns when the other end of the pipe is closed, which the kernel does for a killed harness
    # too.
    if sys.stdin.buffer.read().decode(errors="replace") != RESTORED:
        _restore_what_remains(path, journal)


def _restore_what_remains(path: Path, journal: Journal) -> None:
    """Try to restore until no board of the run is left."""
    is_logged = not source_class(journal.meter).simulated
    lines: list[str] = []
    for pause_s in (0, *PAUSES_S):
        # `lock_directory` would make the state directory again after all is restored.
        if not _waits_with_work(path, journal, pause_s):
            return
        results = _try_to_restore(path, journal, is_first=pause_s == 0)
        previous_lines, lines = lines, [line for line, _ in results]
        if lines != previous_lines:
            _print_lines(lines, is_logged)
        if all(is_restored for _, is_restored in results):
            return
        if pause_s == 0:
            _print_lines(
                [
                    f"{path}: the watchdog of the run {journal.run_id} tries to restore these "
                    f"limits again, for up to {sum(PAUSES_S) / 60:.0f} min"
                ],
                is_logged,
            )
    _print_lines(
        [f"{path}: the watchdog has ended its attempts; try: bench-submit restore"], is_logged
    )


def _waits_with_work(path: Path, journal: Journal, pause_s: float) -> bool:
    """Wait for `pause_s`. Returns whether boards of this run are left to restore; if none are,
    sooner."""
    deadline_s = time.monotonic() + pause_s
    while _list_own_limits(path, journal, is_first=pause_s == 0):
        remaining_s = deadline_s - time.monotonic()
        if remaining_s <= 0:
            return True
        time.sleep(min(STEP_S, remaining_s))
    return False


def _list_own_limits(path: Path, journal: Journal, is_first: bool) -> tuple[SavedLimit, ...]:
    """The limits of the boards that this run has changed and nobody has restored since.

    The registry of the host says so. Where a board is not registered, the journal does. At the
    first attempt nobody can have restored anything, so a journal that is gone was lost, and that
    of another run was altered: a run that lives would hold the lock.
    """
    try:
        present = Journal.read(path)
        is_own = is_first or (present is not None and present.is_same_run(journal))
    except BlockedError:
        # A fault of the disk can pass.
        is_own = True
    registered = {
        limit.uuid: is_registered_by(journal, path, limit.uuid) for limit in journal.accelerators
    }
    return tuple(
        limit
        for limit in journal.accelerators
        if (is_own if registered[limit.uuid] is None else registered[limit.uuid])
    )


def _try_to_restore(path: Path, journal: Journal, is_first: bool) -> list[tuple[str, bool]]:
    """Restore the boards of the run that are left. Returns a line for each board, or for the error,
    and whether it is restored."""
    try:
        # The lock is held by `bench-submit restore`, or by another user in order to prevent this.
        with lock_directory(path.parent, is_restoring=True):
            # Meanwhile the limits may have been restored and another run may have begun.
            limits = _list_own_limits(path, journal, is_first)
            if not limits:
                return []
            remaining = replace(journal, accelerators=limits)
            if not path.exists():
                # It was lost. If this attempt fails, the next one and `restore` need it.
                with contextlib.suppress(MeterError):
                    remaining.write(path)
            try:
                source = open_all_boards(journal.meter)
            except BoardsEndedError:
                remove_journal(remaining, path)
                return [(f"{path}: the simulator has ended, so no limit is left to restore", True)]
            with closing(source):
                return restore_boards(source, path, remaining)
    except (MeterError, OSError) as error:
        return [(str(error), False)]


def _print_lines(lines: Sequence[str], is_logged: bool) -> None:
    """Print lines, and write them into the system log too if `is_logged`."""
    for line in lines if is_logged else ():
        syslog.syslog(syslog.LOG_WARNING, f"wattmark: {line}")
    with contextlib.suppress(OSError):  # the terminal may be gone
        for line in lines:
            # A terminal after Ctrl-S, or a pipe that nobody reads, would block the next attempt.
            if sys.stderr is not None and select.select([], [sys.stderr], [], 0)[1]:
                print(f"wattmark: {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        watch(Path(sys.argv[1]), *sys.argv[2:])
    except MeterError as problem:
        sys.exit(f"wattmark: {problem}")
