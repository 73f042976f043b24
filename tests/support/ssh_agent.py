"""An ssh-agent for one test, and waiting for a condition."""

import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest


@pytest.fixture
def agent(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An ssh-agent without keys, for this test alone. Its socket has a short path, as sockets
    must."""
    with tempfile.TemporaryDirectory(prefix="wm-") as directory:
        path = Path(directory) / "agent"
        started = subprocess.Popen(["ssh-agent", "-D", "-a", str(path)], stdout=subprocess.DEVNULL)
        try:
            wait_for(lambda: listens(path))
            monkeypatch.setenv("SSH_AUTH_SOCK", str(path))
            yield
        finally:
            started.terminate()
            started.wait(30)


def listens(path: Path) -> bool:
    """Whether somebody takes calls at a socket, which is there a moment before."""
    with socket.socket(socket.AF_UNIX) as caller:
        return caller.connect_ex(str(path)) == 0


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "waited for a minute in vain"
        time.sleep(0.05)
