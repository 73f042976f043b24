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
    """An ssh-agent without keys, for this test alone. The path of its socket is short, because
    the length of socket paths is limited."""
    with tempfile.TemporaryDirectory(prefix="wm-") as directory:
        path = Path(directory) / "agent"
        process = subprocess.Popen(["ssh-agent", "-D", "-a", str(path)], stdout=subprocess.DEVNULL)
        try:
            wait_for(lambda: is_listening(path))
            monkeypatch.setenv("SSH_AUTH_SOCK", str(path))
            yield
        finally:
            process.terminate()
            process.wait(30)


def is_listening(path: Path) -> bool:
    """Whether a process accepts connections at a socket. The file exists a moment earlier."""
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(str(path)) == 0


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true within a minute"
        time.sleep(0.05)
