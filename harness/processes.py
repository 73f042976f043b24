"""Starting torchrun so that nothing of a run outlives the harness, whatever ends it.

Linux ends a process with a signal of its choice when its parent dies (prctl(2), PR_SET_PDEATHSIG).
The launcher asks for that and then becomes torchrun; each worker asks for it in turn, before
anything else. So `kill -9` of the harness ends the workers too. PYTHONSAFEPATH keeps the directory
that a run is started from off their import path.
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
"""In place of other waits for the end of a process where the harness is interrupted: a cap may wait
to be restored."""
LAUNCHER_VARIABLE = "WATTMARK_LAUNCHER_PID"
ONLY_RANK = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1"}
"""What torchrun would say to a worker that is alone."""


def die_with_parent(parent_pid: int | None = None) -> None:
    """Have Linux kill this process when its parent dies; end at once where the parent is no longer
    `parent_pid`."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if parent_pid is not None and os.getppid() != parent_pid:
        os._exit(1)


def patience_s(kind: type[BaseException] | None, usual_s: float) -> float:
    """How long a context manager that is left with an exception of that kind may wait for a process
    of its own."""
    return usual_s if kind is None or issubclass(kind, Exception) else HURRIED_TIMEOUT_S


def descendants(pids: Iterable[int]) -> list[int]:
    """The processes `pids` and all that they have started, and those in turn; of Linux's /proc
    (proc(5))."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):  # it has ended meanwhile
            continue
        children.setdefault(parent, []).append(int(stat.parent.name))
    found = list(pids)
    for pid in found:
        found += children.get(pid, [])
    return found


class Workers:
    """The processes of a run under torchrun, `count` on this node; a context manager that leaves
    none behind.

    `meeting` says how torchrun finds the other nodes, or that there are none. With None the only
    worker is started without torchrun, which imports torch and so takes seconds.
    """

    def __init__(
        self,
        count: int,
        meeting: list[str] | None,
        arguments: list[str],
        environment: Mapping[str, str],
        on_line: Callable[[str], None],
    ) -> None:
        launcher = [
            "-m",
            "harness.processes",
            str(os.getpid()),
            *(meeting or []),
            f"--nproc-per-node={count}",
            "--max-restarts=0",
            "--module",
        ]
        self._environment = {**environment, "PYTHONSAFEPATH": "1"}
        if meeting is None:
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
            start_new_session=True,  # an interrupt typed at the terminal is the harness's to handle
        )
        assert self._process.stdout is not None
        self._reader = threading.Thread(
            target=self._listen, args=(self._process.stdout,), daemon=True
        )
        self._reader.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        assert self._process is not None
        timeout_s = patience_s(kind, TERM_TIMEOUT_S)
        if self._process.poll() is None:
            self._process.terminate()  # torchrun ends its workers on SIGTERM
            try:
                self._process.wait(timeout_s)
            except subprocess.TimeoutExpired:
                self._process.kill()  # and the workers with it
                self._process.wait()
        self._reader.join(timeout_s)

    def wait(self, timeout_s: float | None = None) -> int | None:
        """Wait until they have ended, for at most `timeout_s`; the exit status, None where they
        have not."""
        assert self._process is not None
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def _listen(self, lines: IO[str]) -> None:
        for line in lines:
            self._on_line(line.rstrip("\n"))


if __name__ == "__main__":
    die_with_parent(int(sys.argv.pop(1)))
    os.environ[LAUNCHER_VARIABLE] = str(os.getpid())
    from torch.distributed.run import main

    main(sys.argv[1:])
