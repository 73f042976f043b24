"""Runs at a set cap that are ended at random moments: the caps that were found come back, whatever is killed and whenever.

The accelerators are simulated, in a process of their own that no kill reaches, and tell what caps they have afterwards.
`WATTMARK_KILLS` says how many moments of each kind are tried (default 2; `make test-kill` takes 20). A moment is drawn from a
seeded generator and is part of the test's name and of what it says when it fails.

The full disk is a tmpfs of its own where this process may mount one; elsewhere a limit on the size of any file is put on the
run's processes (RLIMIT_FSIZE), which ends their writing just as suddenly.
"""

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.engine import judge
from checker.find import below
from harness import command, rundir, simulator
from harness.cli import main
from harness.journal import JOURNAL_FILE
from harness.meters import open_meter
from harness.plan import Wish
from harness.processes import descendants
from rules.rule import Severity

KILLS = int(os.environ.get("WATTMARK_KILLS", "2"))
SEED = 20260411
EPOCH_S = 0.3
DEADLINE_S = 120
FOUND_MW, CAP_W, GPUS = 700_000, 400, 2
DISK_BYTES = 8 << 20
pytestmark = pytest.mark.xdist_group("machine")


@dataclass
class Room:
    """A simulator, and a place for runs on it."""

    out: Path
    state: Path
    """Of the simulator's socket and of the journal."""
    log: Path
    process: "subprocess.Popen[str] | None" = None

    def start(self) -> None:
        asked = ["resnet50-train", "--simulate", "h200", "--cap", str(CAP_W), "--gpus", str(GPUS), "-o", str(self.out)]
        line = [sys.executable, "-m", "harness.cli", "run", *asked, "--epoch-seconds", str(EPOCH_S)]
        with self.log.open("w") as said:
            self.process = subprocess.Popen(line, stdout=said, stderr=said, text=True, start_new_session=True)

    @property
    def said(self) -> str:
        return self.log.read_text()

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def ends(self) -> int:
        """Wait for the run and all that it has started; its exit status."""
        assert self.process is not None
        status = self.process.wait(DEADLINE_S)
        wait_for(lambda: not processes_of(self.out) and not processes_of(self.state / JOURNAL_FILE))
        return status

    def part(self, name: str) -> int | None:
        """The process id of the run's `name`: sampler, worker or watchdog."""
        module = f"harness.{name}".encode()
        for pid in descendants([self.pid]):
            words = command_line(pid)
            if module in words and b"torch.distributed.run" not in words and b"harness.processes" not in words:
                return pid
        return None

    @property
    def caps_mw(self) -> set[int | None]:
        meter = open_meter("simulated:h200")
        try:
            return {meter.readback(d.uuid, frozenset()).enforced_mw for d in meter.devices()}
        finally:
            meter.close()

    @property
    def bundles(self) -> list[Path]:
        return below(self.out).bundles

    @property
    def unfinished(self) -> list[Path]:
        return sorted(self.out.glob(".*.running"))


def wait_for(condition, within_s: float = DEADLINE_S) -> None:
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.02)


def command_line(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def processes_of(path: Path) -> list[int]:
    """The processes whose command line names `path` or something below it."""
    pids = [int(p.name) for p in Path("/proc").glob("[0-9]*")]
    return [p for p in pids if any(str(path).encode() in word for word in command_line(p)) and p != os.getpid()]


@contextmanager
def opened(root: Path, small: Path | None = None):
    """A room below `root`, what is written by it in `small` where that is given; its simulator ends with the block."""
    room = Room((small or root) / "out", (small or root) / "state", root / "said")
    room.out.mkdir()
    room.state.mkdir()
    socket = str(room.state / "socket")
    holder = simulator.start("h200", socket)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(simulator.VARIABLE, socket)
            yield room
    finally:
        if room.process is not None and room.process.poll() is None:
            room.process.kill()
            room.process.wait()
        holder.terminate()
        holder.wait(DEADLINE_S)


@pytest.fixture
def room(tmp_path):
    with opened(tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def usual_s(tmp_path_factory) -> tuple[float, float]:
    """How long one run of this kind takes here and now: until its first worker is there, and as a whole."""
    with opened(tmp_path_factory.mktemp("usual")) as room:
        began_s = time.monotonic()
        room.start()
        wait_for(lambda: room.part("worker") is not None)
        worker_s = time.monotonic() - began_s
        assert room.ends() == 0, room.said
        whole_s = time.monotonic() - began_s
        assert room.caps_mw == {FOUND_MW} and len(room.bundles) == 1
        power = json.loads((room.bundles[0] / "result.json").read_text())["power"]
        assert power["mode"] == "set" and power["cap_w"] == CAP_W and set(power["found_mw"].values()) == {FOUND_MW}
    return worker_s, whole_s


def moments(kind: str) -> list[float]:
    """Shares of a run's time, from the start to a little after the end."""
    drawn = random.Random(f"{SEED} {kind}")
    return [round(drawn.uniform(0, 1.05), 3) for _ in range(KILLS)]


def cases(kind: str):
    return pytest.mark.parametrize("moment", moments(kind), ids=lambda share: f"at-{share}")


def assert_nothing_is_wrong(room: Room, status: int) -> None:
    """The caps are back, and what there is of bundles is whole; a run that said it ended well has left one."""
    wait_for(lambda: room.caps_mw == {FOUND_MW}, within_s=20)
    restored = CliRunner().invoke(main, ["restore"])  # where the kill came between the journal and the first write
    assert restored.exit_code == 0 and not (room.state / JOURNAL_FILE).exists(), restored.output
    assert room.caps_mw == {FOUND_MW}
    assert len(room.bundles) <= 1
    for bundle in room.bundles:
        errors = [f for f in judge(bundle, signed=False).findings if f.severity == Severity.ERROR]
        assert not [f for f in errors if f.rule[0] in "SICMT"], errors  # a busy machine may disturb the rhythm of samples
        assert json.loads((bundle / "result.json").read_text())["power"]["cap_w"] == CAP_W
    if status == 0:
        assert len(room.bundles) == 1 and not room.unfinished, room.said
    for directory in room.unfinished:
        assert_finished_epochs_are_on_disk(directory)


def assert_finished_epochs_are_on_disk(directory: Path) -> None:
    state = directory / rundir.STATE_FILE
    finished = json.loads(state.read_text())["finished_epochs"] if state.exists() else 0
    if finished == 0:
        return
    windows = (directory / "batches.0.csv").read_text().splitlines()[1:]
    assert {int(line.split(",")[0]) for line in windows if line.count(",") == 5} >= set(range(finished))
    ends_ns = [int(line.split(",")[4]) for line in windows if line.split(",")[0] == str(finished - 1)]
    samples = (directory / "samples.csv").read_text().splitlines()[1:]
    assert int(samples[-1].split(",")[0]) > max(ends_ns) - 200_000_000


@cases("sigkill")
def test_sigkill_to_the_harness(room, usual_s, moment):
    room.start()
    time.sleep(moment * usual_s[1])
    room.process.kill()
    status = room.ends()
    assert_nothing_is_wrong(room, status)


SET_AND_RESTORE = """
import sys, time
from pathlib import Path
from harness import caps
from harness.plan import Plan
plan = Plan.load(Path(sys.argv[1]))
for _ in range(3):
    with caps.held(plan):
        time.sleep(0.3)
"""


def test_sigkill_while_caps_are_set_and_restored(room):
    """The moments that a whole run has few of, at five times as many of them."""
    command.plan_for(Wish("resnet50-train", simulate="h200", cap_w=CAP_W, gpus=8)).save(room.out)
    line = [sys.executable, "-c", SET_AND_RESTORE, str(room.out)]
    began_s = time.monotonic()
    subprocess.run(line, check=True, capture_output=True)
    usual_s = time.monotonic() - began_s
    assert room.caps_mw == {FOUND_MW}
    for moment in random.Random(SEED).choices(range(1000), k=5 * KILLS):
        process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(moment / 1000 * usual_s)
        process.kill()
        process.wait()
        wait_for(lambda: not processes_of(room.state / JOURNAL_FILE))
        assert room.caps_mw == {FOUND_MW}, f"after {moment / 1000} of {usual_s} s"
        assert CliRunner().invoke(main, ["restore"]).exit_code == 0


@cases("sigterm")
def test_sigterm_to_the_harness(room, usual_s, moment):
    room.start()
    time.sleep(moment * usual_s[1])
    room.process.terminate()
    status = room.ends()
    assert status in (0, 128 + signal.SIGTERM, -signal.SIGTERM), room.said  # the last before Python was up
    assert_nothing_is_wrong(room, status)
    if not room.bundles and room.unfinished:
        state = json.loads((room.unfinished[0] / rundir.STATE_FILE).read_text())
        assert (state["status"], state["reason"]) == ("interrupted", "SIGTERM")


def has_finished(room: Room, pid: int | None) -> bool:
    """Whether the worker of that process id, which is dead now, had written all that it was to write."""
    for path in room.out.glob(".*.running/events.*.jsonl"):
        with suppress(OSError):  # the run is over, and its directory gone
            events = [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]
            if any(e.get("pid") == pid for e in events) and events[-1]["event"] == "finished":
                return True
    return False


@pytest.mark.parametrize("part", ["worker", "sampler", "caps"])
@cases("part")
def test_sigkill_to_a_part_of_the_run(room, usual_s, part, moment):
    """Without its worker or its sampler a run ends and leaves no bundle; a watchdog is replaced and the run goes on."""
    room.start()
    wait_for(lambda: room.part(part) is not None or room.process.poll() is not None)
    time.sleep(moment * (usual_s[1] - usual_s[0]))
    pid = room.part(part)
    with suppress(ProcessLookupError):
        if pid is not None:
            os.kill(pid, signal.SIGKILL)
            wait_for(lambda: not command_line(pid))
    was_done = "epoch 10" in room.said or has_finished(room, pid)
    status = room.ends()
    assert_nothing_is_wrong(room, status)
    if part == "caps":
        assert status == 0, room.said
    elif pid is not None and not was_done:
        assert status == 1 and not room.bundles, room.said


@pytest.fixture
def small(tmp_path):
    """A disk of its own, of few bytes; None where this process may not mount one."""
    directory = tmp_path / "small"
    directory.mkdir()
    command_line = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "none", str(directory)]
    if subprocess.run(command_line, capture_output=True, check=False).returncode != 0:
        yield None
        return
    try:
        yield directory
    finally:
        subprocess.run(["umount", "-l", directory], check=True)


def fill(directory: Path) -> None:
    """Leave no byte free on the disk of `directory`."""
    with suppress(OSError), (directory / "filler").open("wb", buffering=0) as file:
        while True:
            file.write(b"\0" * 4096)


def limit_files(pids: list[int]) -> None:
    """Let these processes write nothing more to any file."""
    for pid in pids:
        with suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, 0))


@cases("disk")
def test_a_disk_that_becomes_full(tmp_path, small, usual_s, moment):
    """Journal, bundle and all that a run writes are on it."""
    with opened(tmp_path, small) as room:
        room.start()
        time.sleep(moment * usual_s[1])
        if small is None:
            limit_files([room.pid, *descendants([room.pid])])
        else:
            fill(small)
        status = room.ends()
        assert "Traceback" not in room.said, room.said
        assert_nothing_is_wrong(room, status)


def test_a_journal_that_finds_no_space_refuses_the_run_before_a_cap_moves(tmp_path, small):
    if small is None:
        pytest.skip("no disk may be mounted here; tests/test_caps.py has the case with a limit on the size of files")
    with opened(tmp_path, small) as room:
        room.out = tmp_path / "elsewhere"
        fill(small)
        room.start()
        assert room.ends() == 2
        assert "the journal cannot be written (No space left" in room.said and "Traceback" not in room.said
        assert "rank 0" not in room.said and not room.bundles
        assert room.caps_mw == {FOUND_MW} and not (room.state / JOURNAL_FILE).exists()


def test_a_run_that_was_killed_sets_its_cap_again_when_it_is_taken_up(room):
    room.start()
    wait_for(lambda: "epoch  2" in room.said)
    assert {CAP_W * 1000, FOUND_MW} == room.caps_mw  # two of eight
    room.process.kill()
    room.ends()
    wait_for(lambda: room.caps_mw == {FOUND_MW})
    (left,) = room.unfinished
    command.resume(left)
    (bundle,) = room.bundles
    result = json.loads((bundle / "result.json").read_text())
    assert (result["attempt"], result["power"]["mode"]) == (2, "set")
    assert {r["enforced_mw"] for r in result["readbacks"]} == {CAP_W * 1000}
    assert room.caps_mw == {FOUND_MW} and not room.unfinished


def test_a_run_ends_with_a_reason_where_the_watchdog_cannot_be_replaced(room):
    """Nothing would restore after a kill then, so the run gives up."""
    room.start()
    wait_for(lambda: "epoch  1" in room.said)
    (room.state / JOURNAL_FILE).unlink()  # without it a watchdog has nothing to watch
    os.kill(room.part("caps"), signal.SIGKILL)
    assert room.ends() != 0 and "the watchdog" in room.said and "Traceback" not in room.said
    wait_for(lambda: room.caps_mw == {FOUND_MW})
