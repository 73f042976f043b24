"""Runs on the boards of the C libraries, in processes of their own."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from support.bindings.boards import AMD_LEVEL_HIGH, Boards, map_boards
from support.bindings.build import library_environment
from support.kills import Sandbox

from harness.power.caps.journal import JOURNAL_FILE
from harness.power.source import STATE_VARIABLE
from harness.processes import list_descendants

CAP_W = 400
SM_CLOCK_MHZ = 1200
METERS = ("nvidia_on_cpu", "amd_on_cpu")
SMOKE_RUN = (
    "run",
    "resnet50-train",
    "--smoke",
    "--batch=4",
    "--epoch-seconds=0.2",
    "--variant=baseline",
    "--implementation=support.implementations:build",
)
SET_AND_RESTORE = """
import sys, time
from pathlib import Path
from harness.power.caps.apply import applied_cap
from harness.run import command
from harness.run.plan import RunRequest
meter, out = sys.argv[1], Path(sys.argv[2])
cap_w, times, hold_s, sm_clock_mhz = map(float, sys.argv[3:])
request = RunRequest(
    "resnet50-train", smoke=True, meter=meter, cap_w=cap_w, gpus=2,
    sm_clock_mhz=int(sm_clock_mhz) or None,
)
plan = command.plan_run(request, out)
for _ in range(int(times)):
    with applied_cap(plan):
        time.sleep(hold_s)
"""


@dataclass(kw_only=True)
class LibrarySandbox(Sandbox):
    """Boards of the C libraries and the directories of the runs on them."""

    meter: str
    boards: Boards

    @property
    def settings(self) -> list[tuple[int, int, int]]:
        """The limit in mW, the performance level and the locked SM clock of each board."""
        return [
            (board.requested_mw, board.level, board.locked_mhz) for board in self.boards.board[:2]
        ]

    @property
    def caps_mw(self) -> set[int | None]:
        return {limit_mw for limit_mw, _, _ in self.settings}

    @property
    def sm_clock_mhz(self) -> int | None:
        """The SM clock at which runs lock the boards. AMD's have no lock."""
        return SM_CLOCK_MHZ if self.meter == "nvidia_on_cpu" else None

    @property
    def journal(self) -> Path:
        return self.state / JOURNAL_FILE

    def start_run(self) -> None:
        """Start a smoke run on the first board at `CAP_W`, on NVIDIA's with a locked SM clock."""
        self.start(*self.make_run_arguments())

    def start_caps(self, times: int, hold_s: float, *prefix: str) -> None:
        """Start a process that sets `CAP_W` on both boards, locks NVIDIA's, and restores them a
        number of times. `prefix` is a command that starts it."""
        numbers = [str(number) for number in (CAP_W, times, hold_s, self.sm_clock_mhz or 0)]
        code = [sys.executable, "-c", SET_AND_RESTORE, self.meter, str(self.out)]
        command = [*prefix, *code, *numbers]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, text=True, start_new_session=True
            )

    def make_run_arguments(self) -> list[str]:
        clock = [f"--sm-clock={self.sm_clock_mhz}"] if self.sm_clock_mhz else []
        settings = [f"--meter={self.meter}", f"--cap={CAP_W}", *clock]
        return [*SMOKE_RUN, *settings, f"--out={self.out}"]

    def run_command(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run bench-submit in a process of its own and wait for its end. Its output is in one line,
        because messages are wrapped."""
        command = [sys.executable, "-m", "harness.cli", *arguments]
        result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        result.stdout = " ".join((result.stdout + result.stderr).split())
        assert "Traceback" not in result.stdout
        return result


def list_registered(sandbox: LibrarySandbox) -> list[str]:
    """The names of the boards that are registered, each with a copy of the journal."""
    directory = sandbox.state.with_name("registered-boards")
    return sorted(path.name for path in directory.glob("*") if path.is_symlink())


@contextmanager
def open_library_sandbox(root: Path, libraries: Path, meter: str) -> Iterator[LibrarySandbox]:
    """Yield a sandbox below `root` with two boards at their default limit. AMD's are at the
    performance level `high`, so that a run sets the level too."""
    boards = map_boards(root / "boards")
    for board in boards.board[:2]:
        board.level = AMD_LEVEL_HIGH
        # Long enough for kills to come while a limit is set.
        board.set_duration_ms = 50
    sandbox = LibrarySandbox(
        root / "out", root / "state", root / "output", meter=meter, boards=boards
    )
    sandbox.out.mkdir()
    environment = library_environment(libraries, root / "boards")
    environment |= {STATE_VARIABLE: str(sandbox.state)}
    try:
        with mock.patch.dict(os.environ, environment, clear=True):
            yield sandbox
    finally:
        if sandbox.process is not None and sandbox.process.poll() is None:
            sandbox.process.kill()
            sandbox.process.wait()


def kill_harness(sandbox: LibrarySandbox) -> None:
    os.kill(sandbox.pid, signal.SIGKILL)


def terminate_harness(sandbox: LibrarySandbox) -> None:
    os.kill(sandbox.pid, signal.SIGTERM)


def kill_process_group(sandbox: LibrarySandbox) -> None:
    os.killpg(sandbox.pid, signal.SIGKILL)


def kill_harness_and_watchdog(sandbox: LibrarySandbox) -> None:
    watchdog = sandbox.find_process("watchdog")
    os.kill(sandbox.pid, signal.SIGKILL)
    if watchdog is not None:
        # It ends by itself once the harness is gone.
        with suppress(ProcessLookupError):
            os.kill(watchdog, signal.SIGKILL)


def kill_every_process(sandbox: LibrarySandbox) -> None:
    """As Slurm ends a step: it kills all processes of a control group."""
    for pid in (sandbox.pid, *list_descendants([sandbox.pid])):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
