"""What happens to the node of a run at the moment of a SIGKILL: to its journal, its users, its
boards and its clock. The run is stopped (SIGSTOP) meanwhile, so that it all happens at one
moment of the run.

A disturbance takes the sandbox and the kill, which it calls. It lasts until its block ends.
"""

import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from copy import copy
from pathlib import Path
from typing import Any
from unittest import mock

from support.bindings.sandbox import (
    CAP_W,
    CapSandbox,
    LibrarySandbox,
    SimulatedSandbox,
    list_registered,
)
from support.harness.journal_faults import (
    change,
    empty,
    lower_limits,
    remove,
    remove_directory,
    rename,
    truncate,
)
from support.kills import Sandbox, wait_for

from harness.power.caps.journal import JOURNAL_FILE
from harness.power.caps.lock import LOCK_FILE
from harness.power.source import STATE_VARIABLE

AnySandbox = LibrarySandbox | SimulatedSandbox
Kill = Callable[[Sandbox], None]
Disturbance = Callable[[Any, Kill], AbstractContextManager[None]]
CLOCK_VARIABLE = "WATTMARK_TEST_CLOCK"
YEARS_S = 10 * 365 * 86400
WAIT_FOR_LOCK = """
import fcntl, os, sys, time
descriptor = os.open(sys.argv[1], os.O_RDONLY)
os.setgid(65534)
os.setuid(65534)
print("waiting", flush=True)
fcntl.flock(descriptor, fcntl.LOCK_EX)
time.sleep(600)
"""


def disturb_journal(fault: Callable[[Path], None]) -> Disturbance:
    """A disturbance of a journal that is there and, where boards are registered, has a copy."""

    @contextmanager
    def disturbance(sandbox: Sandbox, kill: Kill) -> Iterator[None]:
        journal = sandbox.state / JOURNAL_FILE
        has_copy = not isinstance(sandbox, LibrarySandbox) or list_registered(sandbox)
        if journal.exists() and has_copy:
            fault(journal)
        kill(sandbox)
        yield

    disturbance.__name__ = fault.__name__
    return disturbance


@contextmanager
def make_read_only(sandbox: Sandbox, kill: Kill) -> Iterator[None]:
    """The file system of the state directory becomes read-only."""
    sandbox.state.mkdir(0o755, exist_ok=True)
    directory = str(sandbox.state)
    subprocess.run(["mount", "--bind", directory, directory], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", directory], check=True)
        kill(sandbox)
        yield
    finally:
        subprocess.run(["umount", "-l", directory], check=True)


@contextmanager
def let_another_user_take_the_lock(sandbox: Sandbox, kill: Kill) -> Iterator[None]:
    """The user nobody gets the lock when the run is killed, and keeps it."""
    lock = sandbox.state / LOCK_FILE
    if not lock.exists():
        kill(sandbox)
        yield
        return
    command = [sys.executable, "-c", WAIT_FOR_LOCK, str(lock)]
    holder = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None and holder.stdout.readline() == "waiting\n"
        kill(sandbox)
        yield
    finally:
        holder.kill()
        holder.communicate()


@contextmanager
def run_in_another_state_directory(sandbox: CapSandbox, kill: Kill) -> Iterator[None]:
    """Another run wants the same boards while the run has them, and while they are restored.
    `restore` looks from the other state directory too."""
    other = copy(sandbox)
    other.state = sandbox.state.with_name("other-state")
    other.log = sandbox.log.with_name("other-output")
    with mock.patch.dict(os.environ, {STATE_VARIABLE: str(other.state)}):
        for act in (lambda: None, lambda: kill(sandbox)):
            act()
            other.start_caps(times=1, hold_s=0)
            assert other.process is not None
            other.process.wait(60)
        yield


@contextmanager
def lose_a_board(sandbox: AnySandbox, kill: Kill) -> Iterator[None]:
    """The first board answers nothing until a first attempt has restored the second one."""
    sandbox.lose_board()
    has_watchdog = sandbox.find_process("watchdog") is not None
    kill(sandbox)
    if kill.__name__ == "kill_harness" and has_watchdog:
        *_, other = sandbox.named_settings
        wait_for(lambda: sandbox.named_settings[other][0] != CAP_W * 1000, within_s=60)
    else:
        sandbox.run_command("restore")
    sandbox.find_board()
    yield


@contextmanager
def reorder_boards(sandbox: AnySandbox, kill: Kill) -> Iterator[None]:
    """The driver numbers the boards otherwise before their limits are restored."""
    watchdog = sandbox.find_process("watchdog")
    # A library in the middle of a call would write to the other board.
    if watchdog is not None:
        os.kill(watchdog, signal.SIGSTOP)
    kill(sandbox)
    assert sandbox.process is not None
    sandbox.process.wait(60)
    sandbox.swap_boards()
    if watchdog is not None:
        with suppress(ProcessLookupError):
            os.kill(watchdog, signal.SIGCONT)
    yield


@contextmanager
def let_clock_jump(sandbox: Sandbox, kill: Kill) -> Iterator[None]:
    """The wall clock jumps years back before the kill and years ahead after it."""
    clock = Path(os.environ[CLOCK_VARIABLE])
    for act, offset_s in ((lambda: None, -YEARS_S), (lambda: kill(sandbox), YEARS_S)):
        with clock.open("r+b") as file:
            file.write(struct.pack("l", offset_s))
        code = "import time; print(time.time())"
        shown = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
        assert abs(float(shown.stdout) - time.time() - offset_s) < 60
        act()
    yield


OF_JOURNAL = tuple(
    map(
        disturb_journal,
        (truncate, empty, remove, rename, lower_limits, change("run_id", "another")),
    )
)
OF_NODE: tuple[Disturbance, ...] = (
    make_read_only,
    let_another_user_take_the_lock,
    let_clock_jump,
)
REMOVE_DIRECTORY = disturb_journal(remove_directory)
"""Not of simulated boards, whose socket lies there."""
OF_BOARDS: tuple[Disturbance, ...] = (run_in_another_state_directory, lose_a_board, reorder_boards)
