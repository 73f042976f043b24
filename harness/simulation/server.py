"""The simulator: a process that holds simulated accelerators. Their state outlives each process of
a run.

    python -m harness.simulation.server h200,disobey=400 SOCKET [PARENT]

It listens on a Unix socket until SIGTERM, or until the process PARENT ends. The environment
variable WATTMARK_SIMULATOR gives the socket to the processes of a run. A client sends one JSON
object per line, {"method": METHOD, …arguments}, and receives one, {"result": RESULT} or {"error":
REASON}. Work and activity end with the connection that set them; caps and power states last as
long as the simulator. A single thread serves all clients, so the state needs no locks.
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

from harness.errors import BoardsEndedError, MeterError
from harness.json_child import ChildEnded, ChildSilent, JsonChild
from harness.processes import die_with_parent
from harness.simulation.board_models import parse_argument
from harness.simulation.boards import Boards

VARIABLE = "WATTMARK_SIMULATOR"
TIMEOUT_S = 20.0
CHUNK_BYTES = 1 << 16


class Client:
    """A connection to the simulator at `path`. Raises MeterError if none listens there."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(TIMEOUT_S)
        try:
            self._socket.connect(path)
        except OSError as error:
            self._socket.close()
            raise self._make_error(error) from None
        # A file object, because `recv` can return part of a line.
        self._lines = self._socket.makefile("rb")

    def ask(self, method: str, **arguments: Any) -> Any:
        """Call a method of `harness.simulation.boards.Boards` and return its result. Raises
        MeterError."""
        try:
            self._socket.sendall(json.dumps({"method": method, **arguments}).encode() + b"\n")
            line = self._lines.readline()
        except OSError as error:
            raise self._make_error(error) from None
        if not line:
            raise self._make_error(ConnectionError("it has closed the connection"))
        answer = json.loads(line)
        if "error" in answer:
            raise MeterError(answer["error"])
        return answer["result"]

    def close(self) -> None:
        self._lines.close()
        self._socket.close()

    def _make_error(self, reason: object) -> MeterError:
        # A simulator that is only slow keeps its boards.
        has_ended = isinstance(reason, FileNotFoundError | ConnectionError)
        return (BoardsEndedError if has_ended else MeterError)(
            f"the simulator at {self._path} ({VARIABLE}) does not answer: {reason}; start it, "
            f"or unset {VARIABLE}"
        )


def connect(argument: str) -> Client | None:
    """Connect to the simulator that the environment names, None if it names none. Raises MeterError
    if it holds other boards."""
    path = os.environ.get(VARIABLE)
    if path is None:
        return None
    client = Client(path)
    actual_argument = client.ask("devices")["argument"]
    # Readings of another model would silently be recorded as those of the requested one.
    if actual_argument != argument:
        client.close()
        raise MeterError(
            f"the simulator at {path} ({VARIABLE}) holds {actual_argument}, not {argument}; unset "
            f"{VARIABLE} to use another"
        )
    return client


@contextmanager
def run_simulator(argument: str) -> Iterator[Path]:
    """Provide a simulator while the block runs, and yield the directory of its socket.

    If the environment names a simulator, it is used. Otherwise a new one is started, named in the
    environment, and stopped at the end of the block. Raises MeterError.
    """
    # Report a misspelt argument here, before a process is started for it.
    parse_argument(argument)
    # Connect only to check that the simulator answers and has the requested boards.
    if client := connect(argument):
        client.close()
        yield Path(os.environ[VARIABLE]).parent
        return
    # A new directory, because the path of a Unix socket must be free and only about 100 bytes long.
    # The cap journal lies there too.
    with tempfile.TemporaryDirectory(prefix="wattmark-", ignore_cleanup_errors=True) as folder:
        path = str(Path(folder) / "socket")
        process = start(argument, path)
        # Sampler, workers and watchdog inherit the variable and so find the same boards.
        os.environ[VARIABLE] = path
        try:
            yield Path(folder)
        finally:
            os.environ.pop(VARIABLE, None)
            # Wait for the end of the simulator before the directory of its socket is removed.
            process.terminate()
            process.wait(TIMEOUT_S)


def start(argument: str, path: str) -> subprocess.Popen[str]:
    """Start a simulator that listens at `path` and ends with this process. Raises MeterError if it
    does not start."""
    child = JsonChild(
        ["-m", "harness.simulation.server", argument, path, str(os.getpid())], os.environ
    )
    try:
        # Wait for this line, because a client that connects earlier is refused.
        answer = child.receive(TIMEOUT_S)
    except ChildEnded:
        answer = "its error is above"
    except ChildSilent:
        answer = f"it did not answer within {TIMEOUT_S:.0f} s; free the node from other work"
    if answer != "ready":
        child.kill()
        raise MeterError(f"the simulator did not start: {answer}")
    return child.process


class _Server:
    """Answers the requests of all clients in the order of their arrival."""

    def __init__(self, boards: Boards, listener: socket.socket) -> None:
        self._boards, self._listener = boards, listener
        self._unread: dict[socket.socket, bytes] = {}
        """The incomplete last line of each client."""
        self._used: dict[socket.socket, set[str]] = {}
        """The boards that each client has put work on, or whose activity it has set."""
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ)

    def serve(self) -> None:
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._listener:
                    client, _ = self._listener.accept()
                    # A client that does not read its answers must not block the others for ever.
                    client.settimeout(TIMEOUT_S)
                    self._unread[client], self._used[client] = b"", set()
                    self._selector.register(client, selectors.EVENT_READ)
                else:
                    assert isinstance(key.fileobj, socket.socket)
                    self._receive(key.fileobj)

    def _receive(self, client: socket.socket) -> None:
        try:
            chunk = client.recv(CHUNK_BYTES)
            # The last part is an incomplete line, or empty.
            *lines, self._unread[client] = (self._unread[client] + chunk).split(b"\n")
            for line in lines:
                client.sendall(json.dumps(self._answer(client, line)).encode() + b"\n")
        except OSError:
            chunk = b""
        if not chunk:
            self._disconnect(client)

    def _answer(self, client: socket.socket, line: bytes) -> dict[str, Any]:
        try:
            request = json.loads(line)
            method = request.pop("method")
            result = self._boards.answer(method, request)
        except MeterError as error:
            return {"error": str(error)}
        # A wrong request of one client must not end the simulator of all others.
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            return {
                "error": "the simulator cannot read the request "
                f"{line.decode(errors='replace')!r}: {error}"
            }
        # `_disconnect` ends the work of this client.
        if method in ("work", "infer", "set_activity"):
            self._used[client].add(request["uuid"])
        return {"result": result}

    def _disconnect(self, client: socket.socket) -> None:
        self._selector.unregister(client)
        client.close()
        del self._unread[client]
        # A killed worker cannot end its work. Without this its boards would stay under load.
        for uuid in self._used.pop(client):
            with suppress(MeterError):  # the board may have vanished
                self._boards.work(uuid, None)


def main() -> int:
    """Run the simulator process. Return its exit status."""
    if len(sys.argv) not in (3, 4):
        print(__doc__, file=sys.stderr)
        return 2
    argument, path, *parent = sys.argv[1:]
    if parent:
        # A killed harness cannot stop its simulator, so the kernel does.
        die_with_parent(int(parent[0]))
    # `sys.exit` raises SystemExit, so that the socket file is removed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    listener = socket.socket(socket.AF_UNIX)
    try:
        boards = Boards(argument)
        listener.bind(path)
    except (MeterError, OSError) as error:
        _write_line(f"{path}: {error}")
        return 1
    try:
        listener.listen()
        _write_line("ready")
        _Server(boards, listener).serve()
    finally:
        Path(path).unlink(missing_ok=True)
    return 0


def _write_line(line: str) -> None:
    """Write to the harness, unless it was interrupted and no longer reads."""
    # Without a buffer, Python does not try to write again when the process ends.
    with suppress(BrokenPipeError):
        os.write(sys.stdout.fileno(), f"{line}\n".encode())


if __name__ == "__main__":
    sys.exit(main())
