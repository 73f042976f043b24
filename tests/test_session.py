"""Whole runs on this machine's CPU under torchrun: what they leave when they end well, are ended, or fail."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from checker.engine import judge, judge_all
from checker.files import read_files
from checker.load import read_evidence
from harness import batchsize, session
from harness.cli import main
from harness.evidence import LOG
from harness.meters import open_meter
from harness.plan import Plan, PlanError, make_plan, workload_of
from harness.progress import View
from harness.session import RunFailed
from rules.records import Evidence

TESTS = Path(__file__).parent
pytestmark = pytest.mark.xdist_group("machine")  # they keep both cores busy


@pytest.fixture(autouse=True)
def workers_find_the_tests(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(TESTS))


def plan(implementation: str = "tiny:build", gpus: int = 1, batch_size: int = 4, epoch_s: float = 0.3) -> Plan:
    meter = open_meter("simulated:h200")
    made = make_plan(
        workload_of("resnet50-train", "baseline", "smoke"),
        variant="baseline",
        size="smoke",
        batch_size=batch_size,
        seed=1,
        epoch_s=epoch_s,
        meter="simulated:h200",
        driver=None,
        devices=tuple(meter.devices()[:gpus]),
        state="P0",
        cap_w=700.0,
        system={"name": "", "site": "", "category": "research", "cooling": "", "interconnect": ""},
    )
    return Plan(**{**made.__dict__, "implementation": implementation})


def take(one: Plan, tmp_path: Path) -> Path:
    directory, target = tmp_path / ".running", tmp_path / "bundle"
    directory.mkdir()
    with View(Console(quiet=True), directory / LOG) as view:
        session.run(one, directory, target, view)
    return target


def evidence_of(bundle: Path) -> Evidence:
    evidence, problems = read_evidence(read_files(bundle))
    assert not problems and evidence
    return evidence


def processes_of(directory: Path) -> list[str]:
    """Command lines of every process that names `directory`."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(directory) in line and "pytest" not in line:
            found.append(line)
    return found


def gone(directory: Path, within_s: float = 10) -> bool:
    deadline = time.monotonic() + within_s
    while processes_of(directory):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def test_a_run_leaves_a_bundle_that_lacks_only_its_signature(tmp_path):
    bundle = take(plan(), tmp_path)
    assert [f for f in judge(bundle, signed=False).findings if f.severity == "error"] == []
    evidence = evidence_of(bundle)
    assert len(evidence.result["epochs"]) == 11
    assert evidence.result["standing"] == "demo"
    whens = [r["when"] for r in evidence.result["readbacks"]]
    assert whens == ["before", *(f"epoch-{e}" for e in range(11)), "after"]
    losses = [e["loss"] for e in evidence.result["epochs"]]
    assert losses == sorted(losses, reverse=True) and len(set(losses)) == 11
    assert "epoch 10" in evidence.log
    assert not (tmp_path / ".running").exists()
    assert gone(tmp_path)


def test_two_ranks_have_each_their_own_accelerator_and_equal_batches(tmp_path):
    evidence = evidence_of(take(plan(gpus=2), tmp_path))
    assert [r["accelerator"] for r in evidence.result["ranks"]] == ["SIM-H200-0", "SIM-H200-1"]
    batches = evidence.batches.groupby(["epoch", "rank"]).size()
    assert batches.nunique() == 1 and len(batches) == 22
    figures = evidence.result["headline"]
    assert figures["items_per_s"]["mean"] == pytest.approx(2 * figures["items_per_s_per_accelerator"]["mean"])


def start(tmp_path: Path, epoch_s: float = 1.5) -> tuple[subprocess.Popen, Path]:
    """A run in a process of its own, in the middle of its third epoch."""
    directory = tmp_path / ".running"
    directory.mkdir()
    plan(epoch_s=epoch_s).save(tmp_path)
    code = (
        "import sys, pathlib; from rich.console import Console\n"
        "from harness import session; from harness.plan import Plan; from harness.progress import View\n"
        "root = pathlib.Path(sys.argv[1]); directory = root / '.running'\n"
        "with View(Console(), directory / 'log.txt') as view:\n"
        "    session.run(Plan.load(root), directory, root / 'bundle', view)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        state = directory / session.STATE_FILE
        if state.exists() and json.loads(state.read_text())["finished_epochs"] >= 2:
            break
        time.sleep(0.1)
    else:
        process.kill()
        pytest.fail("the run did not come to its second epoch")
    time.sleep(epoch_s / 3)
    return process, directory


def assert_two_epochs_are_on_disk(directory: Path, status: str) -> None:
    state = json.loads((directory / session.STATE_FILE).read_text())
    assert state["status"] == status and state["finished_epochs"] >= 2
    batches = (directory / "batches.0.csv").read_text().splitlines()[1:]
    assert {line.split(",")[0] for line in batches} >= {"0", "1"}
    last_end = max(int(line.split(",")[4]) for line in batches)
    samples = (directory / "samples.csv").read_text().splitlines()[1:]
    assert int(samples[-1].split(",")[0]) > last_end - 200_000_000


def test_kill_9_leaves_no_bundle_no_process_and_the_finished_epochs_on_disk(tmp_path):
    process, directory = start(tmp_path)
    process.kill()
    process.wait()
    assert gone(tmp_path)
    assert not (tmp_path / "bundle").exists()
    assert_two_epochs_are_on_disk(directory, "running")  # nobody was left to say otherwise; the process is gone
    (verdict,) = judge_all([tmp_path]).verdicts
    assert verdict.status == "fail"  # there is no bundle below this path


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_an_honest_state_and_the_run_can_be_taken_up(tmp_path, number):
    process, directory = start(tmp_path, epoch_s=1.0)
    process.send_signal(number)
    process.wait(30)
    assert gone(tmp_path)
    assert not (tmp_path / "bundle").exists()
    assert_two_epochs_are_on_disk(directory, "interrupted")
    assert json.loads((directory / session.STATE_FILE).read_text())["reason"] == number.name

    again = session.take_up(directory)
    assert again.attempt == 2
    assert (directory / "attempt-1" / "samples.csv").exists()
    with View(Console(quiet=True), directory / LOG) as view:
        session.run(again, directory, tmp_path / "bundle", view)
    assert evidence_of(tmp_path / "bundle").result["attempt"] == 2


def test_a_run_that_is_going_on_is_not_taken_up(tmp_path):
    plan().save(tmp_path)
    (tmp_path / session.STATE_FILE).write_text(json.dumps({"status": "running", "pid": os.getpid()}))
    with pytest.raises(PlanError, match=f"process {os.getpid()} is still running it"):
        session.take_up(tmp_path)


def test_what_is_no_run_is_not_taken_up(tmp_path):
    with pytest.raises(PlanError, match="no plan of a run there"):
        session.take_up(tmp_path)
    (tmp_path / "plan.json").write_text("[]")
    with pytest.raises(PlanError, match="no plan of a run there"):
        session.take_up(tmp_path)


def test_running_out_of_memory_is_said_in_a_line_that_helps(tmp_path):
    with pytest.raises(RunFailed, match=r"out of memory at batch size 64 .* use a smaller --batch, or --batch auto"):
        take(plan("tiny:build_hungry", batch_size=64), tmp_path)
    assert json.loads((tmp_path / ".running" / session.STATE_FILE).read_text())["status"] == "failed"
    assert not (tmp_path / "bundle").exists()


def test_an_implementation_that_breaks_is_said_and_its_traceback_is_in_the_log(tmp_path):
    with pytest.raises(RunFailed, match="the log says why"):
        take(plan("tiny:build_broken", gpus=2), tmp_path)
    assert "this implementation is broken" in (tmp_path / ".running" / LOG).read_text()
    assert gone(tmp_path)


def test_a_loss_that_is_not_finite_makes_a_bundle_that_fails(tmp_path):
    bundle = take(plan("tiny:build_diverging"), tmp_path)
    assert [e["loss"] for e in evidence_of(bundle).result["epochs"]] == [None] * 11
    assert judge(bundle, signed=False).status == "fail"


def test_the_batch_finder_finds_the_highest_stable_batch(tmp_path):
    with View(Console(quiet=True), tmp_path / LOG) as view:
        best, trials = batchsize.find(plan("tiny:build_hungry"), 64, tmp_path, view)
    assert best == 12
    assert [(t["batch_size"], t["outcome"]) for t in trials] == [
        (4, "ok"),
        (8, "ok"),
        (16, "out-of-memory"),
        (12, "ok"),
        (14, "out-of-memory"),
    ]  # fmt: skip
    assert all(t["items_per_s"] > 0 for t in trials if t["outcome"] == "ok")


@pytest.mark.parametrize(
    ("start", "limit", "fits", "best"),
    [(4, 64, 64, 64), (4, 50, 50, 46), (8, 64, 1, 1), (8, 64, 0, None), (1, 1, 1, 1), (256, 4096, 700, 640)],
)
def test_the_search_for_a_batch_ends_at_what_fits(start, limit, fits, best):
    tried = []

    def stable(size):
        assert 1 <= size <= limit and size not in tried
        tried.append(size)
        return size <= fits

    assert batchsize._search(start, limit, stable) == best


def test_the_real_workloads_run_from_the_command_line(tmp_path):
    command = ["run", "vitl16-train", "--smoke", "--simulate", "h200", "--variant", "baseline", "--epoch-seconds", "0.5"]
    done = subprocess.run(
        [sys.executable, "-m", "harness.cli", *command, "--gpus", "2", "--batch", "4", "-o", str(tmp_path)],
        capture_output=True,
        check=False,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "pre-check: no errors" in done.stdout
    (bundle,) = tmp_path.iterdir()
    losses = [e["loss"] for e in evidence_of(bundle).result["epochs"]]
    assert losses[-1] < losses[0]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["resnet51-train"], "there is no workload 'resnet51-train'; there are llama3-8b-pretrain"),
        (["sd2-train"], "sd2-train is defined, but has no reference implementation yet"),
        (["resnet50-train", "--variant", "fast"], "has no variant 'fast'; it has baseline, tuned"),
        (["resnet50-train", "--simulate", "b300"], "no simulated accelerator 'b300'"),
        (["resnet50-train", "--smoke", "--simulate", "h200", "--gpus", "9"], "--gpus 9: the meter sees 8 accelerator"),
        (["resnet50-train", "--smoke", "--simulate", "h200", "--cap", "400"], "--cap 400: the cap in force is 700.0 W"),
        (["resnet50-train", "--smoke", "--simulate", "h200", "--batch", "many"], "--batch many: give a number"),
        (["resnet50-train", "--smoke", "--simulate", "h200", "--system", "none.toml"], "none.toml: cannot be read as TOML"),
        (["--resume", "nowhere"], "nowhere/plan.json: no plan of a run there"),
        ([], "name a workload"),
    ],
)
def test_a_wish_that_cannot_be_fulfilled_is_refused_with_a_reason(tmp_path, arguments, says):
    done = CliRunner().invoke(main, ["run", *arguments, "-o", str(tmp_path)])
    assert done.exit_code == 2
    assert says in " ".join(done.output.split())
    assert not list(tmp_path.iterdir())


def test_run_has_few_options():
    assert sorted(o for p in main.commands["run"].params for o in p.opts) == [
        "--batch", "--cap", "--epoch-seconds", "--gpus", "--out", "--resume", "--seed", "--simulate", "--smoke", "--system",
        "--variant", "-o", "workload",
    ]  # fmt: skip
