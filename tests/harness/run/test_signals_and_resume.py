"""What a run leaves when a signal or `kill -9` ends it, and how an interrupted run is resumed."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.harness.session_runs import (
    TESTS,
    carry_out,
    change_plan,
    find_bundles,
    list_command_lines,
    make_test_plan,
    read_evidence,
    wait_until_gone,
)
from support.kills import DEADLINE_S, read_complete_rows

from checker.engine import judge_all
from harness import interrupts
from harness.cli import main
from harness.errors import PlanError
from harness.power.sources import open_source
from harness.processes import list_descendants
from harness.run import command
from harness.run import run_directory as rundir
from harness.run.outcome import Outcome
from harness.run.plan import Plan
from rules.bundle_format import write as bundle

pytestmark = pytest.mark.xdist_group("signals")


@pytest.fixture(autouse=True)
def workers_find_the_tests(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(TESTS))


def begin(tmp_path: Path, epoch_s: float, first: str = "") -> subprocess.Popen:
    """A run in a process of its own, in `tmp_path / ".running"`, which carries out the code `first`
    before."""
    (tmp_path / ".running").mkdir()
    make_test_plan(epoch_s=epoch_s).save(tmp_path)
    code = first + (
        "import pathlib, sys; from harness import interrupts\n"
        "from harness.run import command\n"
        "from harness.run.plan import Plan\n"
        "root = pathlib.Path(sys.argv[1])\n"
        "with interrupts.raise_interrupts():\n"
        " command.carry_out(Plan.load(root), root / '.running')\n"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def start(tmp_path: Path, epoch_s: float = 1.5, first: str = "") -> tuple[subprocess.Popen, Path]:
    """A run in a process of its own, in the middle of its third epoch."""
    directory = tmp_path / ".running"
    process = begin(tmp_path, epoch_s, first)
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        state = directory / rundir.STATE_FILE
        if state.exists() and json.loads(state.read_text())["finished_epochs"] >= 2:
            break
        time.sleep(0.1)
    else:
        process.kill()
        pytest.fail("the run did not come to its second epoch")
    time.sleep(epoch_s / 3)
    return process, directory


def assert_two_epochs_are_on_disk(directory: Path, status: str) -> None:
    state = json.loads((directory / rundir.STATE_FILE).read_text())
    assert state["status"] == status and state["finished_epochs"] >= 2
    batches, samples = (
        read_complete_rows(directory / name) for name in ("batches.0.csv", "samples.csv")
    )
    assert {row[0] for row in batches} >= {"0", "1"}
    # The samples of the next epoch follow its batches.
    ends_ns = [int(row[4]) for row in batches if int(row[0]) < state["finished_epochs"]]
    assert int(samples[-1][1]) > max(ends_ns) - 500_000_000


def test_kill_9_leaves_no_bundle_no_process_and_the_finished_epochs_on_disk(tmp_path):
    process, directory = start(tmp_path, epoch_s=3.0)
    process.kill()
    process.wait()
    assert wait_until_gone(tmp_path, within_s=20)  # by themselves they would go on for longer
    assert not find_bundles(tmp_path)
    assert_two_epochs_are_on_disk(
        directory, "running"
    )  # nobody was left to say otherwise; the process is gone
    (verdict,) = judge_all([tmp_path]).verdicts
    assert verdict.status == "fail"  # there is no bundle below this path


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_an_honest_state_and_the_run_can_be_taken_up(tmp_path, number):
    process, directory = start(tmp_path, epoch_s=1.0)
    process.send_signal(number)
    process.wait(DEADLINE_S)
    assert wait_until_gone(tmp_path)
    assert not find_bundles(tmp_path)
    assert_two_epochs_are_on_disk(directory, "interrupted")
    assert json.loads((directory / rundir.STATE_FILE).read_text())["reason"] == number.name

    assert command.resume(directory)
    (bundle,) = find_bundles(tmp_path)
    assert read_evidence(bundle).result["attempt"] == 2
    assert not directory.exists()


ENDLESS = (
    "from harness import processes; from harness.power import reading_process\n"
    "processes.TERM_TIMEOUT_S = reading_process.STOP_TIMEOUT_S = 1e6\n"
)


def test_a_signal_does_not_wait_long_for_what_does_not_end_by_itself(tmp_path):
    """Torchrun, worker and sampler stand still here, and the waits of any other end are made
    endless."""
    process, directory = start(tmp_path, first=ENDLESS)
    for pid in list_descendants([process.pid]):
        if pid != process.pid:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(DEADLINE_S)
    finally:
        process.kill()
    assert wait_until_gone(tmp_path)
    assert json.loads((directory / rundir.STATE_FILE).read_text())["status"] == "interrupted"


def test_a_signal_while_the_bundle_is_written_takes_effect_once_it_stands(tmp_path, monkeypatch):
    """Then nothing follows it, such as the next run of a sweep."""
    plain = bundle.write

    def disturbed(*arguments: object) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        plain(*arguments)

    monkeypatch.setattr(bundle, "write", disturbed)
    with pytest.raises(rundir.Interrupted), interrupts.raise_interrupts():
        carry_out(make_test_plan(), tmp_path)
        pytest.fail("it went on")
    (bundle_path,) = find_bundles(tmp_path)
    assert (
        read_evidence(bundle_path).result["attempt"] == 1 and not (tmp_path / ".running").exists()
    )


def test_kill_9_while_the_workers_start_leaves_no_process(tmp_path):
    process = begin(tmp_path, epoch_s=5.0)
    deadline = time.monotonic() + DEADLINE_S
    while not any("harness.run.workers.worker" in line for line in list_command_lines(tmp_path)):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.kill()
    process.wait()
    assert wait_until_gone(tmp_path, within_s=30)


def left_behind(tmp_path: Path, status: str = "interrupted", **changes: object) -> Path:
    """A directory as an interrupted run leaves it."""
    directory = tmp_path / ".left.running"
    directory.mkdir()
    change_plan(make_test_plan(), **changes).save(directory)
    rundir.write_state(directory, status=status, finished_epochs=3)
    return directory


def test_a_run_is_taken_up_from_inside_its_directory(tmp_path, monkeypatch):
    directory = left_behind(tmp_path)
    monkeypatch.chdir(directory)
    assert command.resume(Path())
    assert len(find_bundles(tmp_path)) == 1


def test_a_run_is_taken_up_by_the_beginning_of_its_name_and_with_details(tmp_path, monkeypatch):
    left_behind(tmp_path).rename(tmp_path / ".20261130T101500Z-resnet50-train-0a1b2c.running")
    plans = []
    monkeypatch.setattr(command, "carry_out", lambda plan, _: plans.append(plan) or Outcome(True))
    arguments = ["run", "--resume", str(tmp_path / "20261130T10"), "--verbose"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0 and [plan.is_verbose for plan in plans] == [True], result.output


def test_a_signal_before_the_first_attempt_has_begun_leaves_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(Plan, "save", interrupted)
    with pytest.raises(rundir.Interrupted):
        carry_out(make_test_plan(), tmp_path)
    assert not list(tmp_path.iterdir()) and "--resume" not in capsys.readouterr().err


def test_a_signal_before_the_next_attempt_has_begun_leaves_a_run_that_is_taken_up(
    tmp_path, monkeypatch
):
    directory = left_behind(tmp_path)
    (directory / "samples.csv").write_text("of the first attempt\n")
    with monkeypatch.context() as at_once, pytest.raises(rundir.Interrupted):
        at_once.setattr(Plan, "save", interrupted)
        command.resume(directory)
    assert (directory / "attempt-1" / "samples.csv").read_text() == "of the first attempt\n"
    assert rundir.load_unfinished_plan(directory).attempt == 1
    assert command.resume(directory)
    (bundle,) = find_bundles(tmp_path)
    assert read_evidence(bundle).result["attempt"] == 2


def interrupted(*_: object) -> None:
    raise rundir.Interrupted("SIGTERM", signal.SIGTERM)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"devices": ()}, "planned for other accelerators"),
        (
            {"cap_w": 500.0},
            r"planned at 500 W as found, and the limits are others now \(SIM-H200-0: 700 W\)",
        ),
        (
            {"found_mw": {"SIM-H200-0": 500_000}},
            r"planned to set the cap of 700 W, which is in force already.*\(SIM-H200-0: 500 W\)",
        ),
        ({"status": "finished"}, "the run is finished"),
    ],
)
def test_a_refused_resume_leaves_everything_as_it_was(tmp_path, changes, message):
    if "devices" in changes:
        changes = {"devices": tuple(open_source("simulated:h100").devices()[:1])}
    directory = left_behind(tmp_path, **changes)
    before = {p.name: p.read_bytes() for p in directory.iterdir()}
    with pytest.raises(PlanError, match=message):
        command.resume(directory)
    assert {p.name: p.read_bytes() for p in directory.iterdir() if p.name != "lock"} == before


def test_a_run_that_is_going_on_is_not_taken_up(tmp_path):
    directory = left_behind(tmp_path, status="running")
    with (
        rundir.hold_directory(directory),
        pytest.raises(PlanError, match="another process is still running it"),
    ):
        command.resume(directory)


def test_what_is_no_run_is_not_taken_up(tmp_path):
    with pytest.raises(PlanError, match="no plan of a run there"):
        command.resume(tmp_path)
    (tmp_path / "plan.json").write_text("[]")
    with pytest.raises(PlanError, match="the plan of the run cannot be read"):
        command.resume(tmp_path)
