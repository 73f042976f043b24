"""Helpers of the tests that kill runs and sweeps: a simulator with directories for runs on it, a
full disk, and the moments of the kills."""

import glob
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
from harness.power.caps.journal import JOURNAL_FILE
from harness.power.sources import open_source
from harness.processes import list_descendants
from harness.simulation import server as simulator

KILLS = int(os.environ.get("WATTMARK_KILLS", "2"))
SEED = 20260411
DEADLINE_S = 300
DISK_BYTES = 120_000_000
MODULES = {
    "sampler": "harness.power.sampler",
    "watchdog": "harness.power.caps.watchdog",
    "worker": "harness.run.workers.worker",
}


@dataclass
class Sandbox:
    """A simulator, and the directories of the runs on it."""

    out: Path
    state: Path
    """The directory of the simulator's socket and of the cap journal."""
    log: Path
    process: "subprocess.Popen[str] | None" = None

    def start(self, *arguments: str) -> None:
        """Start bench-submit with these arguments, in a process of its own."""
        command = [sys.executable, "-m", "harness.cli", *arguments]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, text=True, start_new_session=True
            )

    @property
    def output(self) -> str:
        return self.log.read_text()

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def wait_for_exit(self) -> int:
        """Wait for the run and for all processes that it started. Returns its exit status."""
        assert self.process is not None
        status = self.process.wait(DEADLINE_S)
        wait_for(
            lambda: not find_processes(self.out) and not find_processes(self.state / JOURNAL_FILE)
        )
        return status

    def find_process(self, name: str) -> int | None:
        """The process id of the sampler, a worker or the watchdog of the run, or None."""
        module = MODULES[name].encode()
        for pid in list_descendants([self.pid]):
            arguments = read_command_line(pid)
            if (
                module in arguments
                # The parents of workers and samplers name the module too.
                and b"torch.distributed.run" not in arguments
                and b"harness.processes" not in arguments
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
    def clocks_mhz(self) -> set[int | None]:
        """The SM clocks of the simulated boards. A board without work shows its lock, or its
        highest clock without one."""
        meter = open_source("simulated:h200")
        try:
            return {meter.read(d.uuid).sm_mhz for d in meter.devices()}
        finally:
            meter.close()

    @property
    def bundles(self) -> list[Path]:
        return find_places(self.out).bundles

    @property
    def unfinished(self) -> list[Path]:
        return sorted(self.out.glob(".*.running"))


def list_files(directory: Path, pattern: str) -> list[Path]:
    """The files and directories below a directory that match a pattern. `Path.glob` fails where a
    run renames or removes one of its directories meanwhile; this passes over it."""
    names = glob.glob(pattern, root_dir=directory, recursive=True, include_hidden=True)  # noqa: PTH207
    return [directory / name for name in names]


def wait_for(
    condition: Callable[[], object], within_s: float = DEADLINE_S, step_s: float = 0.02
) -> None:
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true in time"
        time.sleep(step_s)


def read_complete_rows(path: Path) -> list[list[str]]:
    """The fields of the rows of a table, without the last row, which a kill may have cut."""
    return [line.split(",") for line in path.read_text().split("\n")[1:-1]]


def read_command_line(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def find_processes(path: Path) -> list[int]:
    """The processes whose command line names `path` or something below it."""
    pids = [int(p.name) for p in Path("/proc").glob("[0-9]*")]
    return [
        p
        for p in pids
        if any(str(path).encode() in argument for argument in read_command_line(p))
        and p != os.getpid()
    ]


@contextmanager
def open_sandbox(root: Path, disk: Path | None = None) -> Iterator[Sandbox]:
    """Yield a sandbox below `root`, whose runs write below `disk` if given. Its simulator ends with
    the block."""
    sandbox = Sandbox((disk or root) / "out", (disk or root) / "state", root / "output")
    sandbox.out.mkdir()
    sandbox.state.mkdir(0o755)
    socket = str(sandbox.state / "socket")
    holder = simulator.start("h200", socket)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(simulator.VARIABLE, socket)
            yield sandbox
    finally:
        if sandbox.process is not None and sandbox.process.poll() is None:
            sandbox.process.kill()
            sandbox.process.wait()
        holder.terminate()
        holder.wait(DEADLINE_S)


def draw_moments(kind: str, kills: int = KILLS) -> list[float]:
    """Times of kills as shares of the time of a run, from 0 to a little after the end."""
    generator = random.Random(f"{SEED} {kind}")
    return [round(generator.uniform(0, 1.05), 3) for _ in range(kills)]


@contextmanager
def mount_small_disk(tmp_path: Path) -> Iterator[Path | None]:
    """Mount a disk of `DISK_BYTES` for one test. Yields None if this process may not mount one."""
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


def fill_disk(directory: Path) -> None:
    """Fill the disk of `directory` to the last byte."""
    with suppress(OSError), (directory / "filler").open("wb", buffering=0) as file:
        while True:
            file.write(b"\0" * 4096)


def limit_files(pids: list[int]) -> None:
    """Stop these processes from writing to any file."""
    for pid in pids:
        with suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, 0))
