"""A node with two boards whose power limits runs set, and processes that set them.

The boards are NVIDIA's, on a fake of NVML that keeps their limits in a file, so that harness and
watchdog, two processes, see the same ones.
"""

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from support.fakes import fake_nvml
from support.fakes.fake_nvml import FakeNvml
from support.kills import read_command_line, wait_for

from harness.power import source
from harness.power.caps import host
from harness.power.caps.journal import JOURNAL_FILE
from harness.power.rocm_devices import VISIBLE_VARIABLES
from harness.power.sources import open_source
from harness.processes import list_descendants
from harness.run.plan import Machine, Plan, RunRequest
from harness.run.planning import make_plan
from harness.system import DESCRIPTION

A, B = "GPU-aaaa0000-0000-0000-0000-000000000000", "GPU-bbbb0000-0000-0000-0000-000000000000"
AS_FOUND = {A: 700_000, B: 700_000}
SET = {A: 400_000, B: 400_000}
TESTS = Path(__file__).parents[2]
WATCHDOG = b"harness.power.caps.watchdog"
HOLD = """
import sys, time
from pathlib import Path
from harness.power.caps.apply import applied_cap
from harness.run.plan import Plan
with applied_cap(Plan.load(Path(sys.argv[1]))):
    print("held", flush=True)
    time.sleep(600)
"""


class Node:
    """Two boards at 700 W with their limits, the journal of their caps, and plans for them."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root, self.state = root, root / "state"
        self.boards = root / "boards.json"
        self.change(uuids=[A, B], limits={A: 700_000, B: 700_000}, root=True, deaf=[])
        fake_nvml.write_module(root, self.boards)
        self.boards_directory = redirect_board_directory(root, monkeypatch)
        self.nvml = FakeNvml.of_file(self.boards)
        monkeypatch.setitem(sys.modules, "pynvml", self.nvml)
        # The watchdog does not look into the working directory.
        monkeypatch.setenv("PYTHONPATH", f"{root}:{TESTS}:{TESTS.parent}")
        monkeypatch.setenv("WATTMARK_STATE", str(self.state))
        for name in (*VISIBLE_VARIABLES, "WATTMARK_SIMULATOR"):
            monkeypatch.delenv(name, raising=False)

    def change(self, **facts: object) -> None:
        boards = json.loads(self.boards.read_text()) if self.boards.exists() else {}
        fake_nvml.replace_json(self.boards, {**boards, **facts})

    @property
    def limits(self) -> dict[str, int]:
        return json.loads(self.boards.read_text())["limits"]

    @property
    def locks(self) -> dict[str, int]:
        """The locked SM clocks in MHz."""
        return json.loads(self.boards.read_text()).get("locks", {})

    @property
    def journal(self) -> Path:
        return self.state / JOURNAL_FILE

    def plan(self, cap_w: float = 400, found_mw: dict[str, int] | None = None) -> Plan:
        devices = tuple(open_source("nvidia").devices())
        found_mw = {A: 700_000, B: 700_000} if found_mw is None else found_mw
        machine = Machine("nvidia", "cuda", "580", devices, "P0", cap_w, found_mw or None)
        return make_plan(RunRequest("resnet50-train"), machine, dict(DESCRIPTION), "0" * 64)

    def __enter__(self) -> "Node":
        return self

    def __exit__(self, *exception: object) -> None:
        wait_for(self._end_watchdogs)

    def _end_watchdogs(self) -> bool:
        """Whether no watchdog is left that tries to restore limits of this node."""
        for pid in (watchdogs := find_watchdogs(self)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return not watchdogs

    @contextmanager
    def hold_cap_elsewhere(self, plan: Plan | None = None):
        """Start another process that holds the settings of the plan, by default 400 W on both
        boards, while the block runs. Yields the process and the process id of its watchdog."""
        (plan or self.plan()).save(self.root)
        command = [sys.executable, "-c", HOLD, str(self.root)]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        try:
            assert process.stdout.readline() == "held\n"
            (watchdog,) = [pid for pid in list_descendants([process.pid]) if pid != process.pid]
            yield process, watchdog
        finally:
            process.kill()
            process.communicate()


def redirect_board_directory(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let this process and those that it starts register boards in a directory of the test instead
    of the node's, and take the PID namespace of the test for that of the host, because the test may
    run in a container. `root` must be on PYTHONPATH: its sitecustomize.py does so in each process.
    """
    namespace = str(Path("/proc/self/ns/pid").readlink())
    directory = root / "registered-boards"
    (root / "sitecustomize.py").write_text(
        "from pathlib import Path\n\nfrom harness.power import source\n"
        "from harness.power.caps import host\n\n"
        f"source.BOARD_DIRECTORY = Path({str(directory)!r})\n"
        f"host.HOST_PID_NAMESPACE = {namespace!r}\n"
    )
    monkeypatch.setattr(source, "BOARD_DIRECTORY", directory)
    monkeypatch.setattr(host, "HOST_PID_NAMESPACE", namespace)
    return directory


def has_ended(pid: int) -> bool:
    """Whether the process is gone or a zombie."""
    try:
        return b"Z" in Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
    except OSError:
        return True


def find_watchdogs(node: Node) -> list[int]:
    """Find the watchdogs of the node's journal, also those whose owner was killed."""
    return [
        pid
        for pid in (int(path.name) for path in Path("/proc").glob("[0-9]*"))
        if {WATCHDOG, os.fsencode(node.journal)} <= set(read_command_line(pid))
    ]


def cut_power(node: Node, plan: Plan | None = None) -> int:
    """Kill the owner of the plan's settings, by default 400 W, and its watchdog, as a power failure
    would. Returns the process id of the owner."""
    with node.hold_cap_elsewhere(plan) as (owner, watchdog):
        os.kill(watchdog, signal.SIGKILL)
        wait_for(lambda: has_ended(watchdog))
        owner.kill()
        owner.wait()
        pid = owner.pid
    assert (plan is not None or node.limits == SET) and node.journal.exists()
    return pid
