"""An SGLang server as a process that does not outlive the one that started it.

`serving` starts this module as a program, which becomes `sglang.launch_server`. Linux ends it with
SIGKILL when its parent dies (prctl(2), PR_SET_PDEATHSIG). The server's own children import this
module too, as every spawned process imports the program it belongs to, so the same holds for them
from their first moment on.
"""

import ctypes
import os
import random
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import torch

from reference.torchvision_shim import declare_operators

PR_SET_PDEATHSIG = 1
PORTS = range(
    20_000, 30_000
)  # below those that Linux gives to clients; SGLang derives others from it, up to 10 000 above
READY_TIMEOUT_S = 600.0
TERM_TIMEOUT_S = 3.0  # SGLang may take for ever to shut down in good order
KILL_TIMEOUT_S = 60.0
LAST_LINES = 40

LAUNCHER_VARIABLES = (
    "RANK",
    "LOCAL_RANK",
    "GROUP_RANK",
    "ROLE_RANK",
    "ROLE_NAME",
    "WORLD_SIZE",
    "LOCAL_WORLD_SIZE",
    "GROUP_WORLD_SIZE",
    "ROLE_WORLD_SIZE",
    "MASTER_ADDR",
    "MASTER_PORT",
)
"""What torchrun tells a worker. The server makes process groups of its own, which these would
confuse."""

DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Opens the server's URLs; a cluster's proxy does not lead to its own nodes."""


@contextmanager
def serving(arguments: list[str], environment: dict[str, str]) -> Iterator[str]:
    """Start a server with these command-line arguments; gives its URL once it answers, and ends it
    and all its children.

    What it prints goes to stdout. Where it ends, or does not answer in `READY_TIMEOUT_S` seconds,
    raises RuntimeError with its last lines, or torch.OutOfMemoryError where they say so. To be
    called from the main thread: Linux takes the end of the calling thread for that of the parent.
    """
    port = _free_port()
    url = f"http://127.0.0.1:{port}"
    inherited = {
        k: v
        for k, v in os.environ.items()
        if k not in LAUNCHER_VARIABLES and not k.startswith("TORCHELASTIC_")
    }
    server = subprocess.Popen(
        [
            sys.executable,
            "-m",
            __name__,
            str(os.getpid()),
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
            *arguments,
        ],
        env={
            **inherited,
            **_numbered(inherited),
            "NO_PROXY": "127.0.0.1",
            "no_proxy": "127.0.0.1",
            **environment,
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,  # a process group of its own
    )
    last_lines: deque[str] = deque(maxlen=LAST_LINES)
    reader = threading.Thread(target=_pass_on, args=(server, last_lines), daemon=True)
    reader.start()
    try:
        _wait_until_ready(server, url, last_lines)
        yield url
    finally:
        _end(server, reader)


def _numbered(environment: dict[str, str]) -> dict[str, str]:
    """CUDA_VISIBLE_DEVICES with numbers where it has UUIDs: SGLang's all-reduce between GPUs reads
    no others.

    On AMD the GPUs are chosen by ROCR_VISIBLE_DEVICES, below SGLang, which then counts those that
    are left.
    """
    visible = environment.get("CUDA_VISIBLE_DEVICES", "").split(",")
    if not visible[0].startswith("GPU-") or torch.version.hip is not None:
        return {}
    import pynvml

    pynvml.nvmlInit()
    numbers = [
        pynvml.nvmlDeviceGetIndex(pynvml.nvmlDeviceGetHandleByUUID(uuid)) for uuid in visible
    ]
    return {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": ",".join(map(str, numbers))}


def _free_port() -> int:
    while True:
        port = random.choice(PORTS)
        with suppress(OSError), socket.socket() as candidate:
            candidate.bind(("127.0.0.1", port))
            return port


def _pass_on(server: "subprocess.Popen[str]", last_lines: deque[str]) -> None:
    assert server.stdout is not None
    for line in server.stdout:
        print(line, end="", flush=True)
        if line.strip():
            last_lines.append(line.rstrip())


def _wait_until_ready(server: "subprocess.Popen[str]", url: str, last_lines: deque[str]) -> None:
    deadline_s = time.monotonic() + READY_TIMEOUT_S
    while True:
        try:
            with DIRECT.open(f"{url}/health_generate", timeout=READY_TIMEOUT_S):
                return
        except OSError:  # refused, or 503: not yet
            time.sleep(0.5)
        if server.poll() is not None:
            reason = f"ended with status {server.returncode} before it was ready"
        elif time.monotonic() > deadline_s:
            reason = f"was not ready after {READY_TIMEOUT_S:.0f} s"
        else:
            continue
        said = "\n".join(last_lines)
        cause = next(
            (line for line in reversed(last_lines) if "Error" in line), "no error in its last lines"
        )
        out_of_memory = "out of memory" in said.lower() or "not enough memory" in said.lower()
        raise (torch.OutOfMemoryError if out_of_memory else RuntimeError)(
            f"the SGLang server {reason}: {cause}\n{said}"
        )


def _end(server: "subprocess.Popen[str]", reader: threading.Thread) -> None:
    server.terminate()
    with suppress(subprocess.TimeoutExpired):
        server.wait(TERM_TIMEOUT_S)
    with suppress(ProcessLookupError):  # where none of its children is left
        os.killpg(server.pid, signal.SIGKILL)
    server.wait()
    reader.join(KILL_TIMEOUT_S)  # all of them hold the other end of the pipe, to their end


if __name__ in ("__main__", "__mp_main__"):  # the server, or a child that it has spawned
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    # The parent may have died before. The server knows it by its number, the children by their
    # group, which it leads.
    orphan = (
        os.getppid() != int(sys.argv.pop(1))
        if __name__ == "__main__"
        else os.getpgid(os.getppid()) != os.getpgrp()
    )
    if orphan:
        sys.exit("the process that wanted this server is gone")
    if torch.version.cuda is None:
        declare_operators()

if __name__ == "__main__":
    runpy.run_module("sglang.launch_server", run_name="__main__")
