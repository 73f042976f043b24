"""Loads the cores and the memory of the host during a control run: `python -m harness.host_load
PARENT_PID`.

stress-ng does it where it is installed: products of 3-d matrices on every core, and 87 % of the
free memory. Without it, every core computes products of matrices. The bundle names the program.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType

from checker.judging.cpu import count_cores
from harness.processes import TERM_TIMEOUT_S, choose_timeout_s, die_with_parent

MEMORY_SHARE = 0.87
MATRIX_SIDE = 2048
NICENESS = 10
"""The load yields the cores to the sampler and the workers, whose times are measured."""
MEMINFO = Path("/proc/meminfo")
CGROUP = Path("/sys/fs/cgroup")
_VERSION = re.compile(r"version (\S+)")


def choose_program() -> str:
    """Return name and version of the program that loads the host on this machine."""
    if shutil.which("stress-ng") is None:
        return "numpy matrix product on every core"
    output = subprocess.run(
        ["stress-ng", "--version"], capture_output=True, text=True, check=False
    ).stdout
    version = _VERSION.search(output)
    return f"stress-ng {version[1]}" if version else "stress-ng"


class HostLoadError(Exception):
    """The host was not loaded during the whole run. The message says what to do."""


class HostLoad:
    """Loads the host while the block runs. With the program None there is nothing to run. Leaving
    the block raises HostLoadError if the program has ended before."""

    def __init__(self, program: str | None) -> None:
        self._program = program
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "HostLoad":
        if self._program is not None:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "harness.host_load", str(os.getpid())],
                # A product of one core must not start a thread on every core.
                env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # only the harness handles Ctrl-C
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._process is None:
            return
        if (status := self._process.poll()) is not None:
            # The error of the block, if there is one, says more.
            if error is None:
                raise HostLoadError(
                    f"{self._program} ended with status {status} during the run, so the host was "
                    "not loaded; free memory on the host, or leave out --host-load"
                )
            return
        # The whole group: stress-ng and the processes of its stressors, or those of the products.
        os.killpg(self._process.pid, signal.SIGTERM)
        try:
            self._process.wait(choose_timeout_s(kind, TERM_TIMEOUT_S))
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


def compute_free_memory() -> int:
    """Return the memory in bytes that this process may still use, by the kernel and by the limit
    of its cgroup (version 2)."""
    lines = dict(line.split(":", 1) for line in MEMINFO.read_text().splitlines())
    free_bytes = 1024 * int(lines["MemAvailable"].split()[0])
    try:
        limit = int((CGROUP / "memory.max").read_text())
        free_bytes = min(free_bytes, limit - int((CGROUP / "memory.current").read_text()))
    except (OSError, ValueError):  # no cgroup, or no limit: the file then contains `max`
        pass
    return max(0, free_bytes)


def make_command(cores: int, free_bytes: int) -> list[str]:
    """Return the command line of stress-ng."""
    memory = ["--vm", "1", "--vm-bytes", str(int(MEMORY_SHARE * free_bytes)), "--vm-keep"]
    # A stressor that the kernel kills for lack of memory must not be started again.
    return ["stress-ng", "--matrix-3d", str(cores), *memory, "--oomable", "--timeout", "0"]


def multiply_matrices(cores: int) -> None:
    """Compute products of matrices on every core, for ever."""
    parent_pid = os.getpid()
    for _ in range(cores - 1):
        if os.fork() == 0:
            die_with_parent(parent_pid)
            break
    # Imported after the fork, because a library with threads must not be forked.
    import numpy as np

    random = np.random.default_rng(os.getpid())
    first, second = random.standard_normal((2, MATRIX_SIDE, MATRIX_SIDE))
    product = np.empty_like(first)
    while True:
        np.matmul(first, second, out=product)


def main() -> None:
    """Load the host until the process is ended."""
    # Linux keeps the request to die with the parent when the program becomes stress-ng.
    die_with_parent(int(sys.argv[1]))
    os.nice(NICENESS)
    if shutil.which("stress-ng") is not None:
        command = make_command(count_cores(), compute_free_memory())
        os.execvp(command[0], command)
    multiply_matrices(count_cores())


if __name__ == "__main__":
    main()
