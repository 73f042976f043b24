"""Runs at a set cap and a locked SM clock that are ended at random moments: the caps that were
found come back and the lock is removed, whatever is killed and whenever.

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
    Sandbox,
    draw_moments,
    fill_disk,
    find_processes,
    limit_files,
    list_files,
    mount_small_disk,
    open_sandbox,
    read_command_line,
    read_complete_rows,
    wait_for,
)  # fmt: skip

from checker.engine import judge
from harness.cli import main
from harness.errors import MeterError
from harness.power.caps.journal import JOURNAL_FILE
from harness.power.sources import simulated
from harness.processes import list_descendants
from harness.run import command, preflight
from harness.run import run_directory as rundir
from harness.run.plan import PLAN_FILE, RunRequest
from rules.finding import Severity

EPOCH_S = 0.3
FOUND_MW, CAP_W = 700_000, 400
FOUND_MHZ, SM_CLOCK_MHZ = 1980, 1200
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
    "--sm-clock",
    str(SM_CLOCK_MHZ),
    "--epoch-seconds",
    str(EPOCH_S),
)


def start_run(sandbox: Sandbox, accelerators: int = 1) -> None:
    sandbox.start(*RUN, "--gpus", str(accelerators), "-o", str(sandbox.out))


@pytest.fixture
def sandbox(tmp_path):
    with open_sandbox(tmp_path) as new_sandbox:
        yield new_sandbox


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
        with open_sandbox(tmp_path_factory.mktemp("usual")) as sandbox:
            began_s = time.monotonic()
            start_run(sandbox, accelerators)
            wait_for(lambda: sandbox.find_process("worker") is not None)
            until_worker_s = time.monotonic() - began_s
            assert sandbox.wait_for_exit() == 0, sandbox.output
            whole_s = time.monotonic() - began_s
            assert sandbox.caps_mw == {FOUND_MW} and len(sandbox.bundles) == 1
            power = json.loads((sandbox.bundles[0] / "result.json").read_text())["power"]
            assert (
                power["mode"] == "set"
                and power["cap_w"] == CAP_W
                and set(power["found_mw"].values()) == {FOUND_MW}
                and power["sm_clock_mhz"] == SM_CLOCK_MHZ
            )
        return Duration(until_worker_s, whole_s)

    return measure


def parametrize_moments(kind: str):
    values = list(zip(draw_moments(kind), cycle(ACCELERATORS), strict=False))
    ids = [f"at-{moment}-x{accelerators}" for moment, accelerators in values]
    return pytest.mark.parametrize(("moment", "accelerators"), values, ids=ids)


def are_settings_restored(sandbox: Sandbox) -> bool:
    return sandbox.caps_mw == {FOUND_MW} and sandbox.clocks_mhz == {FOUND_MHZ}


def assert_nothing_is_wrong(sandbox: Sandbox, status: int) -> None:
    """The caps are back, and what there is of bundles is whole; a run that said it ended well has
    left one."""
    wait_for(lambda: are_settings_restored(sandbox), within_s=20)
    restored = CliRunner().invoke(
        main, ["restore"]
    )  # where the kill came between the journal and the first write
    assert restored.exit_code == 0 and not (sandbox.state / JOURNAL_FILE).exists(), restored.output
    assert are_settings_restored(sandbox)
    assert len(sandbox.bundles) <= 1
    for bundle in sandbox.bundles:
        errors = [f for f in judge(bundle, signed=False).findings if f.severity == Severity.ERROR]
        assert not [f for f in errors if f.rule[0] in "SICMT"], (
            errors
        )  # a busy machine may disturb the rhythm of samples
        assert json.loads((bundle / "result.json").read_text())["power"]["cap_w"] == CAP_W
    if status == 0:
        assert len(sandbox.bundles) == 1 and not sandbox.unfinished, sandbox.output
    for directory in sandbox.unfinished:
        assert_finished_epochs_are_on_disk(directory)


def assert_finished_epochs_are_on_disk(directory: Path) -> None:
    state = directory / rundir.STATE_FILE
    finished = json.loads(state.read_text())["finished_epochs"] if state.exists() else 0
    if finished == 0:
        return
    batches = read_complete_rows(directory / "batches.0.csv")
    assert {int(row[0]) for row in batches} >= set(range(finished))
    end_ns = max(int(row[4]) for row in batches if row[0] == str(finished - 1))
    assert int(read_complete_rows(directory / "samples.csv")[-1][1]) > end_ns - 200_000_000


@parametrize_moments("sigkill")
def test_sigkill_to_the_harness(sandbox, measure_duration, moment, accelerators):
    usual = measure_duration(accelerators)
    start_run(sandbox, accelerators)
    time.sleep(moment * usual.whole_s)
    sandbox.process.kill()
    status = sandbox.wait_for_exit()
    assert_nothing_is_wrong(sandbox, status)


SET_AND_RESTORE = """
import sys, time
from pathlib import Path
from harness.power.caps.apply import applied_cap
from harness.run.plan import Plan
plan = Plan.load(Path(sys.argv[1]))
for _ in range(3):
    with applied_cap(plan):
        time.sleep(0.3)
"""


def test_sigkill_while_caps_are_set_and_restored(sandbox):
    """The moments that a whole run has few of, at five times as many of them."""
    run_request = RunRequest(
        "resnet50-train", simulate="h200", cap_w=CAP_W, gpus=8, sm_clock_mhz=SM_CLOCK_MHZ
    )
    command.plan_run(run_request, sandbox.out).save(sandbox.out)
    line = [sys.executable, "-c", SET_AND_RESTORE, str(sandbox.out)]
    began_s = time.monotonic()
    subprocess.run(line, check=True, capture_output=True)
    usual_s = time.monotonic() - began_s
    assert sandbox.caps_mw == {FOUND_MW}
    for moment in random.Random(SEED).choices(range(1000), k=5 * KILLS):
        process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(moment / 1000 * usual_s)
        process.kill()
        process.wait()
        wait_for(lambda: not find_processes(sandbox.state / JOURNAL_FILE))
        assert are_settings_restored(sandbox), f"after {moment / 1000} of {usual_s} s"
        assert CliRunner().invoke(main, ["restore"]).exit_code == 0


@parametrize_moments("sigterm")
def test_sigterm_to_the_harness(sandbox, measure_duration, moment, accelerators):
    usual = measure_duration(accelerators)
    start_run(sandbox, accelerators)
    time.sleep(moment * usual.whole_s)
    sandbox.process.terminate()
    status = sandbox.wait_for_exit()
    assert status in (0, 128 + signal.SIGTERM, -signal.SIGTERM), (
        sandbox.output
    )  # the last before Python was up
    assert_nothing_is_wrong(sandbox, status)
    if not sandbox.bundles and sandbox.unfinished:
        state = json.loads((sandbox.unfinished[0] / rundir.STATE_FILE).read_text())
        assert (state["status"], state["reason"]) == ("interrupted", "SIGTERM")


def has_finished(sandbox: Sandbox, pid: int | None) -> bool:
    """Whether the worker of that process id, which is dead now, had written all that it was to
    write."""
    for path in list_files(sandbox.out, ".*.running/events.*.jsonl"):
        with suppress(OSError):  # the run is over, and its directory gone
            events = [
                json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")
            ]
            if any(e.get("pid") == pid for e in events) and events[-1]["event"] == "finished":
                return True
    return False


@pytest.mark.parametrize("part", ["worker", "sampler", "watchdog"])
@parametrize_moments("part")
def test_sigkill_to_a_part_of_the_run(sandbox, measure_duration, part, moment, accelerators):
    """Without its worker or its sampler a run ends and leaves no bundle; a watchdog is replaced and
    the run goes on."""
    usual = measure_duration(accelerators)
    start_run(sandbox, accelerators)
    wait_for(lambda: sandbox.find_process(part) is not None or sandbox.process.poll() is not None)
    if part == "watchdog":  # before it stands by, its death ends the run
        wait_for(lambda: sandbox.caps_mw != {FOUND_MW} or sandbox.process.poll() is not None)
    time.sleep(moment * (usual.whole_s - usual.until_worker_s))
    pid = sandbox.find_process(part)
    with suppress(ProcessLookupError):
        if pid is not None:
            os.kill(pid, signal.SIGKILL)
            wait_for(lambda: not read_command_line(pid))
    was_done = "epoch 10" in sandbox.output or has_finished(sandbox, pid)
    status = sandbox.wait_for_exit()
    assert_nothing_is_wrong(sandbox, status)
    if part == "watchdog":
        assert status == 0, sandbox.output
    elif pid is not None and not was_done:
        assert status == 1 and not sandbox.bundles, sandbox.output


@pytest.fixture
def small_disk(tmp_path):
    with mount_small_disk(tmp_path) as directory:
        yield directory


@parametrize_moments("disk")
def test_a_disk_that_becomes_full(tmp_path, small_disk, measure_duration, moment, accelerators):
    """Journal, bundle and all that a run writes are on it."""
    usual = measure_duration(accelerators)
    with open_sandbox(tmp_path, small_disk) as sandbox:
        start_run(sandbox, accelerators)
        time.sleep(moment * usual.whole_s)
        if small_disk is None:
            limit_files([sandbox.pid, *list_descendants([sandbox.pid])])
        else:
            fill_disk(small_disk)
        status = sandbox.wait_for_exit()
        assert "Traceback" not in sandbox.output, sandbox.output
        assert_nothing_is_wrong(sandbox, status)


def test_a_journal_that_finds_no_space_refuses_the_run_before_a_cap_moves(tmp_path, small_disk):
    if small_disk is None:
        pytest.skip(
            "no disk may be mounted here; tests/harness/power/caps/test_cap_apply.py has the case "
            "with a limit on the size of files"
        )
    with open_sandbox(tmp_path, small_disk) as sandbox:
        sandbox.out = tmp_path / "elsewhere"
        fill_disk(small_disk)
        start_run(sandbox)
        assert sandbox.wait_for_exit() == 3
        assert (
            "the journal cannot be written (No space left" in sandbox.output
            and "Traceback" not in sandbox.output
        )
        assert "rank 0" not in sandbox.output and not sandbox.bundles
        assert sandbox.caps_mw == {FOUND_MW} and not (sandbox.state / JOURNAL_FILE).exists()


def test_a_run_that_was_killed_sets_its_cap_again_when_it_is_taken_up(sandbox, monkeypatch):
    monkeypatch.setattr(preflight, "GRACE_S", DEADLINE_S)
    start_run(sandbox)
    wait_for(lambda: "epoch  2" in sandbox.output)
    assert {CAP_W * 1000, FOUND_MW} == sandbox.caps_mw  # one of eight
    sandbox.process.kill()
    sandbox.process.wait()
    (unfinished_run,) = sandbox.unfinished
    command.resume(unfinished_run)  # its watchdog may still be restoring
    (bundle,) = sandbox.bundles
    result = json.loads((bundle / "result.json").read_text())
    assert (result["attempt"], result["power"]["mode"]) == (2, "set")
    assert {r["enforced_mw"] for r in result["readbacks"]} == {CAP_W * 1000}
    assert sandbox.caps_mw == {FOUND_MW} and not sandbox.unfinished


def test_a_watchdog_is_replaced_although_the_journal_is_lost(sandbox):
    start_run(sandbox)
    wait_for(lambda: "epoch  1" in sandbox.output)
    (sandbox.state / JOURNAL_FILE).unlink()
    first = sandbox.find_process("watchdog")
    os.kill(first, signal.SIGKILL)
    wait_for(lambda: sandbox.find_process("watchdog") not in (first, None))
    sandbox.process.kill()
    sandbox.wait_for_exit()
    assert are_settings_restored(sandbox)


def test_a_run_that_was_killed_with_its_watchdog_is_taken_up_once_its_limits_are_restored(sandbox):
    """Before that it is refused, and its plan is not changed to one for the cap that it has left
    itself."""
    start_run(sandbox)
    wait_for(lambda: "epoch  0" in sandbox.output)
    os.kill(sandbox.pid, signal.SIGSTOP)  # or it might start another watchdog in between
    os.kill(sandbox.find_process("watchdog"), signal.SIGKILL)
    sandbox.process.kill()
    sandbox.wait_for_exit()
    (unfinished_run,) = sandbox.unfinished
    planned = (unfinished_run / PLAN_FILE).read_bytes()
    with pytest.raises(MeterError, match="and is gone; restore them with: bench-submit restore"):
        command.resume(unfinished_run)
    assert (unfinished_run / PLAN_FILE).read_bytes() == planned and {
        CAP_W * 1000,
        FOUND_MW,
    } == sandbox.caps_mw
    assert CliRunner().invoke(main, ["restore"]).exit_code == 0
    command.resume(unfinished_run)
    (bundle,) = sandbox.bundles
    assert json.loads((bundle / "result.json").read_text())["power"]["mode"] == "set"
    assert sandbox.caps_mw == {FOUND_MW} and not sandbox.unfinished


def test_a_good_run_whose_cap_cannot_be_restored_is_judged_and_ends_with_the_reason(
    sandbox, monkeypatch
):
    plain = simulated.SimulatedSource.set_cap

    def refused(self, uuid: str, cap_mw: int) -> None:
        if cap_mw == FOUND_MW:
            raise MeterError(f"{uuid}: the board is not itself today")
        plain(self, uuid, cap_mw)

    monkeypatch.setattr(simulated.SimulatedSource, "set_cap", refused)
    result = CliRunner().invoke(main, [*RUN, "--gpus", "1", "-o", str(sandbox.out)])
    assert result.exit_code == 1 and "Usage" not in result.output, result.output
    assert (
        "pre-check: " in result.output
        and "not itself today; not restored to 700 W" in result.output
    )
    assert len(sandbox.bundles) == 1 and not sandbox.unfinished
    wait_for(lambda: sandbox.caps_mw == {FOUND_MW})  # the watchdog, another process, can
