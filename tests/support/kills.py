"""What the tests that kill runs and sweeps share: a simulator, places for runs on it, a full disk,
and moments to kill at."""

import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from checker.find import find_places
from harness.power.cap_journal import JOURNAL_FILE
from harness.power.sources import open_source
from harness.processes import list_descendants
from harness.simulation import server as simulator

KILLS = int(os.environ.get("WATTMARK_KILLS", "2"))
SEED = 20260411
DEADLINE_S = 300
DISK_BYTES = 8 << 20
MODULES = {
    "sampler": "harness.power.sampler",
    "watchdog": "harness.power.cap_watchdog",
    "worker": "harness.run.worker",
}


@dataclass
class Room:
    """A simulator, and a place for runs on it."""

    out: Path
    state: Path
    """Of the simulator's socket and of the journal."""
    log: Path
    process: "subprocess.Popen[str] | None" = None

    def start(self, *asked: str) -> None:
        """Start bench-submit with what is asked, in a process of its own."""
        line = [sys.executable, "-m", "harness.cli", *asked]
        with self.log.open("w") as said:
            self.process = subprocess.Popen(
                line, stdout=said, stderr=said, text=True, start_new_session=True
            )

    @property
    def said(self) -> str:
        return self.log.read_text()

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def ends(self) -> int:
        """Wait for the run and all that it has started; its exit status."""
        assert self.process is not None
        status = self.process.wait(DEADLINE_S)
        wait_for(lambda: not processes_of(self.out) and not processes_of(self.state / JOURNAL_FILE))
        return status

    def part(self, name: str) -> int | None:
        """The process id of the run's `name`: sampler, worker or watchdog."""
        module = MODULES[name].encode()
        for pid in list_descendants([self.pid]):
            words = command_line(pid)
            if (
                module in words
                and b"torch.distributed.run" not in words
                and b"harness.processes" not in words
            ):
                return pid
        return None

    @property
    def caps_mw(self) -> set[int | None]:
        meter = open_source("simulated:h200")
        try:
            return {meter.readback(d.uuid, frozenset()).enforced_mw for d in meter.devices()}
        finally:
            meter.close()

    @property
    def bundles(self) -> list[Path]:
        return find_places(self.out).bundles

    @property
    def unfinished(self) -> list[Path]:
        return sorted(self.out.glob(".*.running"))


def wait_for(condition: Callable[[], object], within_s: float = DEADLINE_S) -> None:
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.02)


def whole_rows(path: Path) -> list[list[str]]:
    """The fields of a table's rows; the last may have been torn, and is left out."""
    return [line.split(",") for line in path.read_text().split("\n")[1:-1]]


def command_line(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def processes_of(path: Path) -> list[int]:
    """The processes whose command line names `path` or something below it."""
    pids = [int(p.name) for p in Path("/proc").glob("[0-9]*")]
    return [
        p
        for p in pids
        if any(str(path).encode() in word for word in command_line(p)) and p != os.getpid()
    ]


@contextmanager
def opened(root: Path, small: Path | None = None) -> Iterator[Room]:
    """A room below `root`, what is written by it in `small` where that is given; its simulator ends
    with the block."""
    room = Room((small or root) / "out", (small or root) / "state", root / "said")
    room.out.mkdir()
    room.state.mkdir()
    socket = str(room.state / "socket")
    holder = simulator.start("h200", socket)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(simulator.VARIABLE, socket)
            yield room
    finally:
        if room.process is not None and room.process.poll() is None:
            room.process.kill()
            room.process.wait()
        holder.terminate()
        holder.wait(DEADLINE_S)


def moments(kind: str, kills: int = KILLS) -> list[float]:
    """Shares of a run's time, from the start to a little after the end."""
    drawn = random.Random(f"{SEED} {kind}")
    return [round(drawn.uniform(0, 1.05), 3) for _ in range(kills)]


@contextmanager
def small_disk(tmp_path: Path) -> Iterator[Path | None]:
    """A disk of its own, of few bytes; None where this process may not mount one."""
    directory = tmp_path / "small"
    directory.mkdir()
    command_line = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "none", str(directory)]
    if subprocess.run(command_line, capture_output=True, check=False).returncode != 0:
        yield None
        return
    try:
        yield directory
    finally:
        subprocess.run(["umount", "-l", directory], check=True)


def fill(directory: Path) -> None:
    """Leave no byte free on the disk of `directory`."""
    with suppress(OSError), (directory / "filler").open("wb", buffering=0) as file:
        while True:
            file.write(b"\0" * 4096)


def limit_files(pids: list[int]) -> None:
    """Let these processes write nothing more to any file."""
    for pid in pids:
        with suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, 0))
