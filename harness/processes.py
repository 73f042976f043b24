"""Start of torchrun such that no process of a run outlives the harness, whatever ends it.

Linux ends a process with a signal of its choice when its parent dies (prctl(2), PR_SET_PDEATHSIG).
The launcher requests that signal and then becomes torchrun. Each worker requests it before it does
anything else. So `kill -9` of the harness ends the workers too. PYTHONSAFEPATH keeps the working
directory off the import path of the workers.
"""

import ctypes
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import IO

PR_SET_PDEATHSIG = 1
TERM_TIMEOUT_S = 10.0
HURRIED_TIMEOUT_S = 1.5
"""The longest wait for the end of a process after an interrupt: a cap may have to be restored."""
LAUNCHER_VARIABLE = "WATTMARK_LAUNCHER_PID"
ONLY_RANK = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1"}
"""The variables that torchrun sets for the only worker of a run."""


def die_with_parent(parent_pid: int | None = None) -> None:
    """Have Linux kill this process when its parent dies. End at once if the parent is no longer
    `parent_pid`: it died before this call."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if parent_pid is not None and os.getppid() != parent_pid:
        os._exit(1)


def choose_timeout_s(kind: type[BaseException] | None, usual_s: float) -> float:
    """The seconds that a context manager may wait for the end of its process, from the exception
    that leaves its block: `usual_s` except after an interrupt."""
    return usual_s if kind is None or issubclass(kind, Exception) else HURRIED_TIMEOUT_S


def list_descendants(pids: Iterable[int]) -> list[int]:
    """The processes `pids` and all their descendants, from Linux's /proc (proc(5))."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name of a process, in parentheses, may be of any bytes.
            parent = int(stat.read_bytes().rpartition(b")")[2].split()[1])
        except (OSError, ValueError):  # the process has ended meanwhile
            continue
        children.setdefault(parent, []).append(int(stat.parent.name))
    tree = list(pids)
    for pid in tree:  # the list grows while it is read
        tree += children.get(pid, [])
    return tree


class Workers:
    """The `count` worker processes of a run on this node. The context manager ends all of them.

    `rendezvous_options` are those by which torchrun finds the other nodes. With None the only
    worker starts without torchrun, because torchrun imports torch, which takes seconds.
    """

    def __init__(
        self,
        count: int,
        rendezvous_options: list[str] | None,
        arguments: list[str],
        environment: Mapping[str, str],
        on_line: Callable[[str], None],
    ) -> None:
        launcher = [
            "-m",
            "harness.processes",
            str(os.getpid()),
            *(rendezvous_options or []),
            f"--nproc-per-node={count}",
            "--max-restarts=0",
            "--module",
        ]
        self._environment = {**environment, "PYTHONSAFEPATH": "1"}
        if rendezvous_options is None:
            launcher = ["-u", "-m"]  # as torchrun starts a worker
            self._environment |= {LAUNCHER_VARIABLE: str(os.getpid()), **ONLY_RANK}
        self._command = [sys.executable, *launcher, *arguments]
        self._on_line = on_line
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> "Workers":
        self._process = subprocess.Popen(
            self._command,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,  # only the harness handles Ctrl-C
        )
        assert self._process.stdout is not None
        self._reader = threading.Thread(
            target=self._read_lines, args=(self._process.stdout,), daemon=True
        )
        self._reader.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        assert self._process is not None
        timeout_s = choose_timeout_s(kind, TERM_TIMEOUT_S)
        if self._process.poll() is None:
            self._process.terminate()  # torchrun ends its workers on SIGTERM
            try:
                self._process.wait(timeout_s)
            except subprocess.TimeoutExpired:
                self._process.kill()  # the workers die with their parent
                self._process.wait()
        self._reader.join(timeout_s)

    def wait(self, timeout_s: float | None = None) -> int | None:
        """Wait for the end of the workers, at most `timeout_s` seconds. Return the exit status, or
        None if they still run."""
        assert self._process is not None
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def _read_lines(self, lines: IO[str]) -> None:
        for line in lines:
            self._on_line(line.rstrip("\n"))


if __name__ == "__main__":
    die_with_parent(int(sys.argv.pop(1)))
    os.environ[LAUNCHER_VARIABLE] = str(os.getpid())
    from torch.distributed.run import main

    main(sys.argv[1:])
