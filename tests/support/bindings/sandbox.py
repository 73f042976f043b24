"""Runs that set caps, in processes of their own, on the boards of the C libraries and on simulated
ones."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from support import simulated_boards
from support.bindings.boards import AMD_LEVEL_HIGH, EVERY_FUNCTION, Board, Boards, map_boards
from support.bindings.build import library_environment
from support.kills import Sandbox

from harness.power.caps.journal import JOURNAL_FILE
from harness.power.source import STATE_VARIABLE
from harness.processes import list_descendants
from harness.simulation.server import VARIABLE, Client

CAP_W = 400
SM_CLOCK_MHZ = 1200
METERS = ("nvidia_on_cpu", "amd_on_cpu")
SIMULATED = "simulated:h200"
LOST = {"nvidia_on_cpu": 15, "amd_on_cpu": 31}
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
class CapSandbox(Sandbox):
    """The directories of runs that set `CAP_W`, and the meter of their boards."""

    meter: str

    @property
    def sm_clock_mhz(self) -> int | None:
        """The SM clock at which runs lock the boards. AMD's have no lock."""
        return None if self.meter == "amd_on_cpu" else SM_CLOCK_MHZ

    @property
    def journal(self) -> Path:
        return self.state / JOURNAL_FILE

    def start_caps(self, times: int, hold_s: float, *prefix: str) -> None:
        """Start a process that sets `CAP_W` on two boards, locks their SM clocks, and restores them
        a number of times. `prefix` is a command that starts it."""
        numbers = [str(number) for number in (CAP_W, times, hold_s, self.sm_clock_mhz or 0)]
        code = [sys.executable, "-c", SET_AND_RESTORE, self.meter, str(self.out)]
        command = [*prefix, *code, *numbers]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, text=True, start_new_session=True
            )

    def run_command(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run bench-submit in a process of its own and wait for its end. Its output is in one line,
        because messages are wrapped."""
        command = [sys.executable, "-m", "harness.cli", *arguments]
        result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        result.stdout = " ".join((result.stdout + result.stderr).split())
        assert "Traceback" not in result.stdout
        return result


@dataclass(kw_only=True)
class LibrarySandbox(CapSandbox):
    """Boards of the C libraries and the directories of the runs on them."""

    boards: Boards

    @property
    def settings(self) -> list[tuple[int, int, int]]:
        """The limit in mW, the performance level and the locked SM clock of each board."""
        return [
            (board.requested_mw, board.level, board.locked_mhz) for board in self.boards.board[:2]
        ]

    @property
    def named_settings(self) -> dict[str, tuple[int, int, int]]:
        """The settings by the ids of the boards, however these are numbered."""
        uuids = [board.uuid.decode() for board in self.boards.board[:2]]
        return dict(zip(uuids, self.settings, strict=True))

    @property
    def caps_mw(self) -> set[int | None]:
        return {limit_mw for limit_mw, _, _ in self.settings}

    @property
    def sets(self) -> int:
        """How many limits were set."""
        return sum(board.sets for board in self.boards.board[:2])

    def lose_board(self) -> None:
        """The first board answers nothing until `find_board`."""
        self.boards.board[0].fail(EVERY_FUNCTION, LOST[self.meter])

    def find_board(self) -> None:
        self.boards.board[0].failing = b""

    def swap_boards(self) -> None:
        """The driver numbers the two boards otherwise from now on."""
        boards = self.boards.board
        first = Board.from_buffer_copy(boards[0])
        boards[0], boards[1] = Board.from_buffer_copy(boards[1]), first

    def start_run(self) -> None:
        """Start a smoke run on the first board at `CAP_W`, on NVIDIA's with a locked SM clock."""
        self.start(*self.make_run_arguments())

    def make_run_arguments(self) -> list[str]:
        clock = [f"--sm-clock={self.sm_clock_mhz}"] if self.sm_clock_mhz else []
        settings = [f"--meter={self.meter}", f"--cap={CAP_W}", *clock]
        return [*SMOKE_RUN, *settings, f"--out={self.out}"]


@dataclass(kw_only=True)
class SimulatedSandbox(CapSandbox):
    """Simulated boards that can be lost and swapped, and the directories of the runs on them."""

    boards: Client

    @property
    def named_settings(self) -> dict[str, tuple[int, int, int]]:
        settings: dict[str, list[int]] = self.boards.ask("show_settings")
        return {uuid: (cap_mw, 0, locked_mhz) for uuid, (cap_mw, locked_mhz) in settings.items()}

    @property
    def sets(self) -> int:
        return int(self.boards.ask("count_sets"))

    def lose_board(self) -> None:
        self.boards.ask("lose_board")

    def find_board(self) -> None:
        self.boards.ask("find_board")

    def swap_boards(self) -> None:
        self.boards.ask("swap_boards")


def list_registered(sandbox: CapSandbox) -> list[str]:
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


@contextmanager
def open_simulated_sandbox(root: Path) -> Iterator[SimulatedSandbox]:
    """Yield a sandbox below `root` with simulated boards, whose state directory is that of their
    socket."""
    state = root / "state"
    state.mkdir(0o755)
    (root / "out").mkdir()
    socket = str(state / "socket")
    command = [sys.executable, simulated_boards.__file__, "h200", socket, str(os.getpid())]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "ready\n"
        with closing(Client(socket)) as boards, mock.patch.dict(os.environ, {VARIABLE: socket}):
            sandbox = SimulatedSandbox(
                root / "out", state, root / "output", meter=SIMULATED, boards=boards
            )
            try:
                yield sandbox
            finally:
                if sandbox.process is not None and sandbox.process.poll() is None:
                    sandbox.process.kill()
                    sandbox.process.wait()
                holder.terminate()


def kill_harness(sandbox: Sandbox) -> None:
    os.kill(sandbox.pid, signal.SIGKILL)


def terminate_harness(sandbox: Sandbox) -> None:
    os.kill(sandbox.pid, signal.SIGTERM)


def kill_process_group(sandbox: Sandbox) -> None:
    os.killpg(sandbox.pid, signal.SIGKILL)


def kill_harness_and_watchdog(sandbox: Sandbox) -> None:
    watchdog = sandbox.find_process("watchdog")
    os.kill(sandbox.pid, signal.SIGKILL)
    if watchdog is not None:
        # It ends by itself once the harness is gone.
        with suppress(ProcessLookupError):
            os.kill(watchdog, signal.SIGKILL)


def kill_every_process(sandbox: Sandbox) -> None:
    """As Slurm ends a step: it kills all processes of a control group."""
    for pid in (sandbox.pid, *list_descendants([sandbox.pid])):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
