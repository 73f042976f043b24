"""Runs at a set cap that are ended at random moments: the caps that were found come back, whatever
is killed and whenever.

The accelerators are simulated, in a process of their own that no kill reaches, and tell what caps
they have afterwards. `WATTMARK_KILLS` says how many moments of each kind are tried (default 2;
`make test-kill` takes 20). A moment is drawn from a seeded generator and is part of the test's name
and of what it says when it fails.

The full disk is a tmpfs of its own where this process may mount one; elsewhere a limit on the size
of any file is put on the run's processes (RLIMIT_FSIZE), which ends their writing just as suddenly.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import cycle
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.kills import (
    DEADLINE_S,
    KILLS,
    SEED,
    Room,
    command_line,
    fill,
    limit_files,
    moments,
    opened,
    processes_of,
    small_disk,
    wait_for,
    whole_rows,
)  # fmt: skip

from checker.engine import judge
from harness.cli import main
from harness.power.cap_journal import JOURNAL_FILE
from harness.power.source import MeterError
from harness.power.sources import simulated
from harness.processes import list_descendants
from harness.run import command
from harness.run import run_directory as rundir
from harness.run.plan import PLAN_FILE, RunRequest
from rules.finding import Severity

EPOCH_S = 0.3
FOUND_MW, CAP_W = 700_000, 400
ACCELERATORS = 2, 1
"""Used in turn for the moments of a kind: torchrun starts two workers, the harness starts one."""
pytestmark = pytest.mark.xdist_group("kill")


RUN = (
    "run",
    "resnet50-train",
    "--simulate",
    "h200",
    "--cap",
    str(CAP_W),
    "--epoch-seconds",
    str(EPOCH_S),
)


def start(room: Room, accelerators: int = 1) -> None:
    room.start(*RUN, "--gpus", str(accelerators), "-o", str(room.out))


@pytest.fixture
def room(tmp_path):
    with opened(tmp_path) as made:
        yield made


@dataclass(frozen=True)
class Duration:
    """Of a run that nothing ends."""

    until_worker_s: float
    whole_s: float


@pytest.fixture(scope="module")
def measure_duration(tmp_path_factory) -> Callable[[int], Duration]:
    """Measures how long a run of this kind takes here and now, by its number of accelerators."""

    @cache
    def measure(accelerators: int) -> Duration:
        with opened(tmp_path_factory.mktemp("usual")) as room:
            began_s = time.monotonic()
            start(room, accelerators)
            wait_for(lambda: room.part("worker") is not None)
            until_worker_s = time.monotonic() - began_s
            assert room.ends() == 0, room.said
            whole_s = time.monotonic() - began_s
            assert room.caps_mw == {FOUND_MW} and len(room.bundles) == 1
            power = json.loads((room.bundles[0] / "result.json").read_text())["power"]
            assert (
                power["mode"] == "set"
                and power["cap_w"] == CAP_W
                and set(power["found_mw"].values()) == {FOUND_MW}
            )
        return Duration(until_worker_s, whole_s)

    return measure


def cases(kind: str):
    values = list(zip(moments(kind), cycle(ACCELERATORS), strict=False))
    ids = [f"at-{moment}-x{accelerators}" for moment, accelerators in values]
    return pytest.mark.parametrize(("moment", "accelerators"), values, ids=ids)


def assert_nothing_is_wrong(room: Room, status: int) -> None:
    """The caps are back, and what there is of bundles is whole; a run that said it ended well has
    left one."""
    wait_for(lambda: room.caps_mw == {FOUND_MW}, within_s=20)
    restored = CliRunner().invoke(
        main, ["restore"]
    )  # where the kill came between the journal and the first write
    assert restored.exit_code == 0 and not (room.state / JOURNAL_FILE).exists(), restored.output
    assert room.caps_mw == {FOUND_MW}
    assert len(room.bundles) <= 1
    for bundle in room.bundles:
        errors = [f for f in judge(bundle, signed=False).findings if f.severity == Severity.ERROR]
        assert not [f for f in errors if f.rule[0] in "SICMT"], (
            errors
        )  # a busy machine may disturb the rhythm of samples
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
    batches = whole_rows(directory / "batches.0.csv")
    assert {int(row[0]) for row in batches} >= set(range(finished))
    end_ns = max(int(row[4]) for row in batches if row[0] == str(finished - 1))
    assert int(whole_rows(directory / "samples.csv")[-1][1]) > end_ns - 200_000_000


@cases("sigkill")
def test_sigkill_to_the_harness(room, measure_duration, moment, accelerators):
    usual = measure_duration(accelerators)
    start(room, accelerators)
    time.sleep(moment * usual.whole_s)
    room.process.kill()
    status = room.ends()
    assert_nothing_is_wrong(room, status)


SET_AND_RESTORE = """
import sys, time
from pathlib import Path
from harness.power.cap_apply import applied_cap
from harness.run.plan import Plan
plan = Plan.load(Path(sys.argv[1]))
for _ in range(3):
    with applied_cap(plan):
        time.sleep(0.3)
"""


def test_sigkill_while_caps_are_set_and_restored(room):
    """The moments that a whole run has few of, at five times as many of them."""
    command.plan_run(RunRequest("resnet50-train", simulate="h200", cap_w=CAP_W, gpus=8)).save(
        room.out
    )
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
def test_sigterm_to_the_harness(room, measure_duration, moment, accelerators):
    usual = measure_duration(accelerators)
    start(room, accelerators)
    time.sleep(moment * usual.whole_s)
    room.process.terminate()
    status = room.ends()
    assert status in (0, 128 + signal.SIGTERM, -signal.SIGTERM), (
        room.said
    )  # the last before Python was up
    assert_nothing_is_wrong(room, status)
    if not room.bundles and room.unfinished:
        state = json.loads((room.unfinished[0] / rundir.STATE_FILE).read_text())
        assert (state["status"], state["reason"]) == ("interrupted", "SIGTERM")


def has_finished(room: Room, pid: int | None) -> bool:
    """Whether the worker of that process id, which is dead now, had written all that it was to
    write."""
    for path in room.out.glob(".*.running/events.*.jsonl"):
        with suppress(OSError):  # the run is over, and its directory gone
            events = [
                json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")
            ]
            if any(e.get("pid") == pid for e in events) and events[-1]["event"] == "finished":
                return True
    return False


@pytest.mark.parametrize("part", ["worker", "sampler", "watchdog"])
@cases("part")
def test_sigkill_to_a_part_of_the_run(room, measure_duration, part, moment, accelerators):
    """Without its worker or its sampler a run ends and leaves no bundle; a watchdog is replaced and
    the run goes on."""
    usual = measure_duration(accelerators)
    start(room, accelerators)
    wait_for(lambda: room.part(part) is not None or room.process.poll() is not None)
    if part == "watchdog":  # before it stands by, its death ends the run
        wait_for(lambda: room.caps_mw != {FOUND_MW} or room.process.poll() is not None)
    time.sleep(moment * (usual.whole_s - usual.until_worker_s))
    pid = room.part(part)
    with suppress(ProcessLookupError):
        if pid is not None:
            os.kill(pid, signal.SIGKILL)
            wait_for(lambda: not command_line(pid))
    was_done = "epoch 10" in room.said or has_finished(room, pid)
    status = room.ends()
    assert_nothing_is_wrong(room, status)
    if part == "watchdog":
        assert status == 0, room.said
    elif pid is not None and not was_done:
        assert status == 1 and not room.bundles, room.said


@pytest.fixture
def small(tmp_path):
    with small_disk(tmp_path) as directory:
        yield directory


@cases("disk")
def test_a_disk_that_becomes_full(tmp_path, small, measure_duration, moment, accelerators):
    """Journal, bundle and all that a run writes are on it."""
    usual = measure_duration(accelerators)
    with opened(tmp_path, small) as room:
        start(room, accelerators)
        time.sleep(moment * usual.whole_s)
        if small is None:
            limit_files([room.pid, *list_descendants([room.pid])])
        else:
            fill(small)
        status = room.ends()
        assert "Traceback" not in room.said, room.said
        assert_nothing_is_wrong(room, status)


def test_a_journal_that_finds_no_space_refuses_the_run_before_a_cap_moves(tmp_path, small):
    if small is None:
        pytest.skip(
            "no disk may be mounted here; tests/harness/power/test_cap_apply.py has the case "
            "with a limit on the size of files"
        )
    with opened(tmp_path, small) as room:
        room.out = tmp_path / "elsewhere"
        fill(small)
        start(room)
        assert room.ends() == 2
        assert (
            "the journal cannot be written (No space left" in room.said
            and "Traceback" not in room.said
        )
        assert "rank 0" not in room.said and not room.bundles
        assert room.caps_mw == {FOUND_MW} and not (room.state / JOURNAL_FILE).exists()


def test_a_run_that_was_killed_sets_its_cap_again_when_it_is_taken_up(room, monkeypatch):
    monkeypatch.setattr(command, "GRACE_S", DEADLINE_S)
    start(room)
    wait_for(lambda: "epoch  2" in room.said)
    assert {CAP_W * 1000, FOUND_MW} == room.caps_mw  # one of eight
    room.process.kill()
    room.process.wait()
    (left,) = room.unfinished
    command.resume(left)  # its watchdog may still be restoring
    (bundle,) = room.bundles
    result = json.loads((bundle / "result.json").read_text())
    assert (result["attempt"], result["power"]["mode"]) == (2, "set")
    assert {r["enforced_mw"] for r in result["readbacks"]} == {CAP_W * 1000}
    assert room.caps_mw == {FOUND_MW} and not room.unfinished


def test_a_run_ends_with_a_reason_where_the_watchdog_cannot_be_replaced(room):
    """Nothing would restore after a kill then, so the run gives up."""
    start(room)
    wait_for(lambda: "epoch  1" in room.said)
    (room.state / JOURNAL_FILE).unlink()  # without it a watchdog has nothing to watch
    os.kill(room.part("watchdog"), signal.SIGKILL)
    assert room.ends() == 1, room.said
    assert "the run was ended: its watchdog died" in room.said
    assert "Traceback" not in room.said and "Usage" not in room.said
    wait_for(lambda: room.caps_mw == {FOUND_MW})


def test_a_run_that_was_killed_with_its_watchdog_is_taken_up_once_its_limits_are_restored(room):
    """Before that it is refused, and its plan is not changed to one for the cap that it has left
    itself."""
    start(room)
    wait_for(lambda: "epoch  0" in room.said)
    os.kill(room.pid, signal.SIGSTOP)  # or it might start another watchdog in between
    os.kill(room.part("watchdog"), signal.SIGKILL)
    room.process.kill()
    room.ends()
    (left,) = room.unfinished
    planned = (left / PLAN_FILE).read_bytes()
    with pytest.raises(MeterError, match="and is gone; restore them with: bench-submit restore"):
        command.resume(left)
    assert (left / PLAN_FILE).read_bytes() == planned and {CAP_W * 1000, FOUND_MW} == room.caps_mw
    assert CliRunner().invoke(main, ["restore"]).exit_code == 0
    command.resume(left)
    (bundle,) = room.bundles
    assert json.loads((bundle / "result.json").read_text())["power"]["mode"] == "set"
    assert room.caps_mw == {FOUND_MW} and not room.unfinished


def test_a_good_run_whose_cap_cannot_be_restored_is_judged_and_ends_with_the_reason(
    room, monkeypatch
):
    plain = simulated.SimulatedSource.set_cap

    def refused(self, uuid: str, cap_mw: int) -> None:
        if cap_mw == FOUND_MW:
            raise MeterError(f"{uuid}: the board is not itself today")
        plain(self, uuid, cap_mw)

    monkeypatch.setattr(simulated.SimulatedSource, "set_cap", refused)
    done = CliRunner().invoke(main, [*RUN, "--gpus", "1", "-o", str(room.out)])
    assert done.exit_code == 1 and "Usage" not in done.output, done.output
    assert "pre-check: " in done.output and "not itself today; not restored to 700 W" in done.output
    assert len(room.bundles) == 1 and not room.unfinished
    wait_for(lambda: room.caps_mw == {FOUND_MW})  # the watchdog, another process, can
