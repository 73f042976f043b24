"""Notes which test executes which line, in the test's process and in those that it starts.

`mutate_code.py` has every Python of its copy of the tree import this module and call `start`. It
does nothing unless LINE_COVERAGE names a directory and LINE_COVERAGE_FILES the files to watch.
Loaded into pytest as a plugin, it notes how long each test took and whether it passed.
"""

import atexit
import os
import sys
import threading
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

DIRECTORY, FILES = "LINE_COVERAGE", "LINE_COVERAGE_FILES"
TEST = "PYTEST_CURRENT_TEST"
"""Pytest sets it, and processes that a test starts inherit it."""


class _Recorder:
    """Collects lines for the current test, and writes them when another begins.

    A process that a test has started may be killed, so it writes each line at once.
    """

    def __init__(self, directory: Path, files: list[str]) -> None:
        self._files = {file: number for number, file in enumerate(files)}
        self._directory = directory
        self._at_once = TEST in os.environ
        self._test = ""
        self._seen: set[tuple[int, int]] = set()

    def trace_call(self, frame: FrameType, event: str, argument: Any) -> Any:
        number = self._files.get(frame.f_code.co_filename)
        if number is None:
            return None
        test = os.environ.get(TEST, "").rpartition(" ")[0]
        if test != self._test:
            self.flush()
            self._test = test

        def trace_line(frame: FrameType, event: str, argument: Any) -> Any:
            place = number, frame.f_lineno
            if event == "line" and place not in self._seen:
                self._seen.add(place)
                if self._at_once:
                    self._write([place])
            return trace_line

        return trace_line

    def flush(self) -> None:
        if not self._at_once:
            self._write(sorted(self._seen))
        self._seen = set()

    def _write(self, places: list[tuple[int, int]]) -> None:
        if places and self._test:
            with (self._directory / f"{os.getpid()}.lines").open("a") as file:
                executed = ",".join(f"{number}:{line}" for number, line in places)
                file.write(f"{self._test}\t{executed}\n")


@cache
def _make_recorder() -> _Recorder:
    recorder = _Recorder(Path(os.environ[DIRECTORY]), os.environ[FILES].split(os.pathsep))
    atexit.register(recorder.flush)
    return recorder


def start() -> None:
    """Begin to record, where the environment asks for it."""
    if DIRECTORY in os.environ:
        threading.settrace(_make_recorder().trace_call)
        sys.settrace(_make_recorder().trace_call)


def pytest_runtest_setup() -> None:
    """A hook of pytest: trace again. Python stops tracing when the trace function raises, as it
    does where a test has patched what writes files."""
    start()


def pytest_runtest_logreport(report: Any) -> None:
    """A hook of pytest: note a test that passed, and its seconds."""
    if report.when == "call" and report.passed and DIRECTORY in os.environ:
        with (Path(os.environ[DIRECTORY]) / "passed").open("a") as file:
            file.write(f"{report.nodeid}\t{report.duration:.4f}\n")
