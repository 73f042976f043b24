"""A child process that speaks JSON lines: it reads a JSON value a line on its standard input, and
answers each with one on its standard output."""

import contextlib
import json
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

END_TIMEOUT_S = 30.0
"""The longest wait for the end of a process that has closed its output."""
_END = object()


class ChildSilent(Exception):
    """The process did not answer in time."""


class ChildEnded(Exception):
    """The process has ended."""

    def __init__(self, status: int | None) -> None:
        super().__init__(status)
        self.status = status
        """None if the process has closed its output and still runs."""


class JsonChild:
    """The handle of `python ARGUMENTS`, which starts at once.

    `on_line` gets the lines that are no JSON, and those of the standard error. Without it, the
    former are answers in text, and the latter go to the standard error of the harness.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        on_line: Callable[[str], None] | None = None,
    ) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if on_line is None else subprocess.PIPE,
            text=True,
            errors="replace",
            env={**environment, "PYTHONSAFEPATH": "1"},
            start_new_session=True,  # Ctrl-C at the terminal is for the harness alone
        )
        self._on_line = on_line
        self._answers: queue.Queue[Any] = queue.Queue()
        # Threads read the answers, so that waiting for one has a time limit.
        self._threads = [threading.Thread(target=self._listen, daemon=True)]
        if on_line is not None:
            self._threads.append(threading.Thread(target=self._log, daemon=True))
        for thread in self._threads:
            thread.start()

    def send(self, value: Any) -> None:
        """Send a value. Raises ChildEnded if the process has closed its input."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(value) + "\n")
            self.process.stdin.flush()
        except OSError:
            raise self._make_end() from None

    def receive(self, timeout_s: float) -> Any:
        """Wait for the next answer. Raises ChildSilent after `timeout_s`, and ChildEnded."""
        try:
            answer = self._answers.get(timeout=timeout_s)
        except queue.Empty:
            raise ChildSilent from None
        if answer is _END:
            self._answers.put(_END)  # for the next call
            raise self._make_end()
        return answer

    def close(self, timeout_s: float) -> None:
        """Close the input, which tells the process to end. Kill it after `timeout_s`."""
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):  # it may have ended by itself
            self.process.stdin.close()
        try:
            self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """End the process at once. Any thread may call this; `receive` then raises ChildEnded."""
        self.process.kill()
        self.process.wait()

    def join(self, timeout_s: float) -> None:
        """Wait until all lines of an ended process have been read."""
        for thread in self._threads:
            thread.join(timeout_s)

    def _make_end(self) -> ChildEnded:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(END_TIMEOUT_S)
        return ChildEnded(self.process.poll())

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            try:
                self._answers.put(json.loads(line))
            except ValueError:
                (self._on_line or self._answers.put)(line.rstrip("\n"))
        self._answers.put(_END)

    def _log(self) -> None:
        assert self.process.stderr is not None and self._on_line is not None
        for line in self.process.stderr:
            self._on_line(line.rstrip("\n"))
