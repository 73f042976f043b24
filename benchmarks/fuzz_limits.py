"""What a case of benchmarks/fuzz.py may take and open."""

import contextlib
import os
import resource
import signal
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MOST_CPU_S = 5.0
MOST_MIB = 1024
HANG_S = 120
"""After so long a case is broken off, on however busy a machine."""


class Outside(Exception):
    """A file outside the submissions directory was opened."""


class Watch:
    """Notes, from inside the interpreter, what is opened and started while it watches a
    directory."""

    def __init__(self) -> None:
        self.inside = ""
        self.opened: list[str] = []
        sys.addaudithook(self._note)

    def _note(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.inside or event not in ("open", "os.listdir", "os.scandir", "subprocess.Popen"):
            return
        paths = arguments[1][1:] if event == "subprocess.Popen" else arguments[:1]
        self.opened += [os.fspath(path) for path in paths if isinstance(path, (str, Path))]

    @contextlib.contextmanager
    def watch(self, directory: Path) -> Iterator[None]:
        """Raises Outside for what is opened that lies neither below the directory nor among the
        checker's own files."""
        self.opened, self.inside = [], str(directory)
        try:
            yield
        finally:
            self.inside = ""
        # ssh-keygen reads signatures from files of the checker's own.
        temporary = f"{tempfile.gettempdir()}/wattmark-"
        own = (directory, temporary, sys.prefix, sys.base_prefix, *filter(None, sys.path))
        allowed = tuple(map(os.path.realpath, own))
        harmless = (os.devnull, tempfile.gettempdir())
        paths = [path for path in self.opened if path.startswith("/") and path not in harmless]
        outside = [path for path in paths if not os.path.realpath(path).startswith(allowed)]
        if outside:
            raise Outside(outside)


@dataclass
class Peaks:
    """The most CPU time and memory that a case took."""

    cpu_s: float = 0.0
    mib: float = 0.0

    @contextlib.contextmanager
    def measure(self) -> Iterator[None]:
        """Break off what hangs. Raises AssertionError for what took too much CPU time or memory.
        The time by the clock does not count, because others may have the cores meanwhile."""
        begin_s = get_cpu_s()
        # From now on, VmHWM is the peak of this case.
        Path("/proc/self/clear_refs").write_text("5")
        signal.alarm(HANG_S)
        try:
            yield
        finally:
            signal.alarm(0)
            cpu_s, mib = get_cpu_s() - begin_s, read_peak_mib()
            self.cpu_s, self.mib = max(self.cpu_s, cpu_s), max(self.mib, mib)
        assert cpu_s < MOST_CPU_S, f"{cpu_s:.1f} s of CPU time"
        assert mib < MOST_MIB, f"{mib:.0f} MiB"

    def include(self, other: "Peaks") -> None:
        self.cpu_s, self.mib = max(self.cpu_s, other.cpu_s), max(self.mib, other.mib)


def read_peak_mib() -> float:
    """The largest memory of this process since its last reset."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def get_cpu_s() -> float:
    return sum(
        sum(resource.getrusage(scope)[:2])
        for scope in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )


def raise_timeout(*_: object) -> None:
    raise TimeoutError(f"broken off after {HANG_S} s")
