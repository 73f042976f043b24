"""The simulator: a process that holds simulated accelerators, so that they outlive every process of
a run.

    python -m harness.simulation.server h200,disobey=400 SOCKET [STARTER]

It listens on a Unix socket until SIGTERM, and no longer than the process STARTER lives, where that
is given. The environment variable WATTMARK_SIMULATOR tells the processes of a run where it is. A
client sends one JSON object a line, {"do": …, the rest}, and gets one back, {"said": …} or
{"refused": why}. Work lasts as long as the connection that put it on, everything else as long as
the simulator. One thread serves all, so that the state needs no locks.
"""

import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from harness.power.source import MeterError
from harness.run.processes import die_with_parent
from harness.simulation.boards import Boards, parse

VARIABLE = "WATTMARK_SIMULATOR"
TIMEOUT_S = 20.0
CHUNK_BYTES = 1 << 16


class Client:
    """A connection to the simulator at `path`. Raises MeterError where there is none."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(TIMEOUT_S)
        try:
            self._socket.connect(path)
        except OSError as error:
            self._socket.close()
            raise self._gone(error) from None
        self._lines = self._socket.makefile("rb")

    def ask(self, do: str, **arguments: Any) -> Any:
        """What the method of that name of `harness.simulation.boards.Boards` returns. Raises
        MeterError."""
        try:
            self._socket.sendall(json.dumps({"do": do, **arguments}).encode() + b"\n")
            line = self._lines.readline()
        except OSError as error:
            raise self._gone(error) from None
        if not line:
            raise self._gone("it has closed the connection")
        answer = json.loads(line)
        if "refused" in answer:
            raise MeterError(answer["refused"])
        return answer["said"]

    def close(self) -> None:
        self._lines.close()
        self._socket.close()

    def _gone(self, why: object) -> MeterError:
        return MeterError(
            f"the simulator at {self._path} ({VARIABLE}) does not answer: {why}; start it, "
            f"or unset {VARIABLE}"
        )


def connect(argument: str) -> Client | None:
    """The simulator that the environment names, None where it names none. Raises MeterError where
    it holds other boards."""
    path = os.environ.get(VARIABLE)
    if path is None:
        return None
    client = Client(path)
    held = client.ask("devices")["argument"]
    if held != argument:
        client.close()
        raise MeterError(
            f"the simulator at {path} ({VARIABLE}) holds {held}, not {argument}; unset "
            f"{VARIABLE} to use another"
        )
    return client


@contextmanager
def running(argument: str) -> Iterator[Path]:
    """A simulator for the block, and the directory of its socket: the one that the environment
    names, or else one of its own that ends with the block. The environment variable is set
    meanwhile. Raises MeterError.
    """
    parse(argument)
    if client := connect(argument):
        client.close()
        yield Path(os.environ[VARIABLE]).parent
        return
    with tempfile.TemporaryDirectory(prefix="wattmark-", ignore_cleanup_errors=True) as folder:
        path = str(Path(folder) / "socket")
        process = start(argument, path)
        os.environ[VARIABLE] = path
        try:
            yield Path(folder)
        finally:
            os.environ.pop(VARIABLE, None)
            process.terminate()
            process.wait(TIMEOUT_S)


def start(argument: str, path: str) -> subprocess.Popen[str]:
    """A simulator that listens at `path` and ends with this process. Raises MeterError where it
    does not start."""
    process = subprocess.Popen(
        [sys.executable, "-m", "harness.simulation.server", argument, path, str(os.getpid())],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONSAFEPATH": "1"},
        start_new_session=True,  # an interrupt typed at the terminal is the harness's to handle
    )
    assert process.stdout is not None
    with process.stdout as lines:
        if (said := lines.readline()) != "ready\n":
            process.kill()
            process.wait()
            raise MeterError(
                f"the simulator did not start: {said.strip() or 'its last words are above'}"
            )
    return process


class _Server:
    """Answers clients, one request after the other."""

    def __init__(self, boards: Boards, listener: socket.socket) -> None:
        self._boards, self._listener = boards, listener
        self._unread: dict[socket.socket, bytes] = {}
        self._working: dict[socket.socket, set[str]] = {}
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ)

    def serve(self) -> None:
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._listener:
                    client, _ = self._listener.accept()
                    client.settimeout(TIMEOUT_S)
                    self._unread[client], self._working[client] = b"", set()
                    self._selector.register(client, selectors.EVENT_READ)
                else:
                    assert isinstance(key.fileobj, socket.socket)
                    self._hear(key.fileobj)

    def _hear(self, client: socket.socket) -> None:
        try:
            received = client.recv(CHUNK_BYTES)
            *lines, self._unread[client] = (self._unread[client] + received).split(b"\n")
            for line in lines:
                client.sendall(json.dumps(self._answer(client, line)).encode() + b"\n")
        except OSError:
            received = b""
        if not received:
            self._part(client)

    def _answer(self, client: socket.socket, line: bytes) -> dict[str, Any]:
        try:
            request = json.loads(line)
            do = request.pop("do")
            said = self._boards.answer(do, request)
        except MeterError as error:
            return {"refused": str(error)}
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            return {
                "refused": f"the simulator cannot make sense of {line.decode(errors='replace')!r}: "
                f"{error}"
            }
        if do == "work":
            self._working[client].add(request["uuid"])
        return {"said": said}

    def _part(self, client: socket.socket) -> None:
        self._selector.unregister(client)
        client.close()
        del self._unread[client]
        for uuid in self._working.pop(client):
            with suppress(MeterError):  # it may have vanished
                self._boards.work(uuid, None)


def main() -> int:
    """The process; returns its exit status."""
    if len(sys.argv) not in (3, 4):
        print(__doc__, file=sys.stderr)
        return 2
    argument, path, *starter = sys.argv[1:]
    if starter:
        die_with_parent(int(starter[0]))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    listener = socket.socket(socket.AF_UNIX)
    try:
        boards = Boards(argument)
        listener.bind(path)
    except (MeterError, OSError) as error:
        print(f"{path}: {error}", flush=True)
        return 1
    try:
        listener.listen()
        print("ready", flush=True)
        _Server(boards, listener).serve()
    finally:
        Path(path).unlink(missing_ok=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
