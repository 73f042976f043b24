"""Runs an SGLang server as a process that does not outlive the process that started it.

`run_server` starts this module as a program, which becomes `sglang.launch_server`. Linux ends it
with SIGKILL when its parent dies (prctl(2), PR_SET_PDEATHSIG). The server's own children import
this module too, because every spawned process imports the program it belongs to. So Linux ends them
in the same way, from their start on.
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
# Below the ports that Linux gives to clients. SGLang derives other ports from the chosen one, up to
# 10 000 above it.
PORTS = range(20_000, 30_000)
READY_TIMEOUT_S = 600.0
TERM_TIMEOUT_S = 3.0  # an orderly shutdown of SGLang may never end
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
"""The variables that torchrun sets for a worker. They would disturb the server, which makes process
groups of its own."""

DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Opens the server's URLs without a proxy: a cluster's proxy does not lead to its own nodes."""


@contextmanager
def run_server(arguments: list[str], environment: dict[str, str]) -> Iterator[str]:
    """Start a server with these command-line arguments, yield its URL once it answers, and end it
    and all its children on exit.

    The server's output goes to stdout. If the server ends or does not answer in `READY_TIMEOUT_S`
    seconds, raises torch.OutOfMemoryError if its last lines report a lack of memory, else
    RuntimeError; both hold these lines. Call it from the main thread: Linux takes the end of the
    calling thread for the end of the parent.
    """
    port = _find_free_port()
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", __name__, str(os.getpid())]
    server = subprocess.Popen(
        [*command, "--host", "127.0.0.1", "--port", str(port), *arguments],
        env=_make_environment(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,  # a process group of its own, which can be killed as a whole
    )
    last_lines: deque[str] = deque(maxlen=LAST_LINES)
    reader = threading.Thread(target=_forward_output, args=(server, last_lines), daemon=True)
    reader.start()
    try:
        _wait_until_ready(server, url, last_lines)
        yield url
    finally:
        _stop_server(server, reader)


def read_memory_bytes() -> int:
    """Return the memory of the first visible accelerator in bytes.

    A process of its own reads it: the context that torch creates would stay on the board, and the
    server could not use that memory.
    """
    program = "import torch; print(torch.cuda.get_device_properties(0).total_memory)"
    output = subprocess.run(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    return int(output)


def _make_environment(environment: dict[str, str]) -> dict[str, str]:
    """Return the environment of the server: this process's without the variables of torchrun, then
    `environment`."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name not in LAUNCHER_VARIABLES and not name.startswith("TORCHELASTIC_")
    }
    no_proxy = {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    return {**inherited, **_number_gpus(inherited), **no_proxy, **environment}


def _number_gpus(environment: dict[str, str]) -> dict[str, str]:
    """Return the variables that name the GPUs of `environment` by number, empty if they need no
    change: SGLang's all-reduce between GPUs reads no UUIDs.

    On AMD the variable ROCR_VISIBLE_DEVICES chooses the GPUs below SGLang, which numbers those that
    are visible.
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


def _find_free_port() -> int:
    """Return a port of `PORTS` that is free now."""
    while True:
        port = random.choice(PORTS)
        with suppress(OSError), socket.socket() as candidate:
            candidate.bind(("127.0.0.1", port))
            return port


def _forward_output(server: "subprocess.Popen[str]", last_lines: deque[str]) -> None:
    """Print the output of the server as it comes, and keep its last lines in `last_lines`."""
    assert server.stdout is not None
    for line in server.stdout:
        print(line, end="", flush=True)
        if line.strip():
            last_lines.append(line.rstrip())


def _wait_until_ready(server: "subprocess.Popen[str]", url: str, last_lines: deque[str]) -> None:
    """Wait until the server generates tokens. Raises errors as `run_server` does."""
    deadline_s = time.monotonic() + READY_TIMEOUT_S
    while True:
        try:
            with DIRECT.open(f"{url}/health_generate", timeout=READY_TIMEOUT_S):
                return
        except OSError:  # refused, or status 503: not ready yet
            time.sleep(0.5)
        if server.poll() is not None:
            reason = f"ended with status {server.returncode} before it was ready"
        elif time.monotonic() > deadline_s:
            reason = f"was not ready after {READY_TIMEOUT_S:.0f} s"
        else:
            continue
        output = "\n".join(last_lines)
        cause = next(
            (line for line in reversed(last_lines) if "Error" in line), "no error in its last lines"
        )
        out_of_memory = "out of memory" in output.lower() or "not enough memory" in output.lower()
        raise (torch.OutOfMemoryError if out_of_memory else RuntimeError)(
            f"the SGLang server {reason}: {cause}\n{output}"
        )


def _stop_server(server: "subprocess.Popen[str]", reader: threading.Thread) -> None:
    """End the server and all its children, and wait until their output is read."""
    server.terminate()
    with suppress(subprocess.TimeoutExpired):
        server.wait(TERM_TIMEOUT_S)
    with suppress(ProcessLookupError):  # raised if no process of the group is left
        os.killpg(server.pid, signal.SIGKILL)
    server.wait()
    # The pipe closes when the last of the processes has ended.
    reader.join(KILL_TIMEOUT_S)


if __name__ in ("__main__", "__mp_main__"):  # the server, or a child that it has spawned
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    # The parent may have died before the call above. The server compares the parent's process id
    # with its argument. A child compares the process group of its parent with its own.
    orphan = (
        os.getppid() != int(sys.argv.pop(1))
        if __name__ == "__main__"
        else os.getpgid(os.getppid()) != os.getpgrp()
    )
    if orphan:
        sys.exit("the process that started this server has ended")
    if torch.version.cuda is None:
        declare_operators()

if __name__ == "__main__":
    runpy.run_module("sglang.launch_server", run_name="__main__")
