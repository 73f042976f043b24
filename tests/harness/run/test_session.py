"""Whole runs on this machine's CPU under torchrun: what they leave when they end well, are ended,
or fail."""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.kills import DEADLINE_S, whole_rows

from checker.engine import judge, judge_all
from harness import interrupts
from harness.cli import main
from harness.power import sources
from harness.power.sources import open_source
from harness.processes import descendants
from harness.run import batch_size as batchsize
from harness.run import command, preflight
from harness.run import run_directory as rundir
from harness.run.plan import Machine, Plan, PlanError, RunRequest, make_plan
from harness.run.session import RunFailed
from harness.system import DESCRIPTION, source_hash
from rules.bundle_format import write as bundle
from rules.bundle_format.files import read_files
from rules.testing.frames import EvidenceFrames, read_frames

TESTS = Path(__file__).parents[2]
pytestmark = pytest.mark.xdist_group("machine")  # they keep both cores busy


@pytest.fixture(autouse=True)
def workers_find_the_tests(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(TESTS))


def plan(
    implementation: str = "support.implementations:build",
    gpus: int = 1,
    batch_size: int = 4,
    epoch_s: float = 0.3,
) -> Plan:
    meter = open_source("simulated:h200")
    run_request = RunRequest(
        "resnet50-train", "baseline", str(batch_size), smoke=True, epoch_s=epoch_s
    )
    machine = Machine("simulated:h200", "cpu", None, tuple(meter.devices()[:gpus]), "P0", 700.0)
    made = make_plan(run_request, machine, dict(DESCRIPTION), source_hash())
    return replace(made, implementation=implementation)


def take(one: Plan, tmp_path: Path) -> Path:
    """Carry out a plan in `tmp_path`; the bundle."""
    directory = tmp_path / ".running"
    directory.mkdir()
    command.carry_out(one, directory)
    return tmp_path / one.run_id


def evidence_of(bundle: Path) -> EvidenceFrames:
    evidence, problems = read_frames(read_files(bundle))
    assert not problems and evidence
    return evidence


def bundles(root: Path) -> list[Path]:
    return [p.parent for p in root.rglob("MANIFEST.json")]


def processes_of(directory: Path) -> list[str]:
    """Command lines of every process that names `directory`."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(directory) in line:
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
    assert "epoch 10" in evidence.log and "Traceback" not in evidence.log
    assert evidence.environment["variables"]["OMP_NUM_THREADS"]
    before, after = evidence.result["clocks"]
    read_ns = evidence.samples["read_ns"]
    assert before["monotonic_ns"] < read_ns.min() and read_ns.max() < after["monotonic_ns"]
    assert abs(before["wall_ns"] / 1e9 - time.time()) < 600
    assert not (tmp_path / ".running").exists()
    assert gone(tmp_path)


def test_two_ranks_have_each_their_own_accelerator_and_equal_batches(tmp_path):
    evidence = evidence_of(take(plan(gpus=2), tmp_path))
    assert [r["accelerators"] for r in evidence.result["ranks"]] == [["SIM-H200-0"], ["SIM-H200-1"]]
    batches = evidence.batches.groupby(["epoch", "rank"]).size()
    assert batches.nunique() == 1 and len(batches) == 22
    figures = evidence.result["headline"]
    assert figures["items_per_s"]["mean"] == pytest.approx(
        2 * figures["items_per_s_per_accelerator"]["mean"]
    )


def begin(tmp_path: Path, epoch_s: float, first: str = "") -> subprocess.Popen:
    """A run in a process of its own, in `tmp_path / ".running"`, which carries out the code `first`
    before."""
    (tmp_path / ".running").mkdir()
    plan(epoch_s=epoch_s).save(tmp_path)
    code = first + (
        "import pathlib, sys; from harness import interrupts\n"
        "from harness.run import command; from harness.run.plan import Plan\n"
        "root = pathlib.Path(sys.argv[1])\n"
        "with interrupts.signals(): command.carry_out(Plan.load(root), root / '.running')\n"
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
    batches, samples = (whole_rows(directory / name) for name in ("batches.0.csv", "samples.csv"))
    assert {row[0] for row in batches} >= {"0", "1"}
    assert int(samples[-1][1]) > max(int(row[4]) for row in batches) - 500_000_000


def test_kill_9_leaves_no_bundle_no_process_and_the_finished_epochs_on_disk(tmp_path):
    process, directory = start(tmp_path, epoch_s=3.0)
    process.kill()
    process.wait()
    assert gone(tmp_path, within_s=20)  # by themselves they would go on for longer
    assert not bundles(tmp_path)
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
    assert gone(tmp_path)
    assert not bundles(tmp_path)
    assert_two_epochs_are_on_disk(directory, "interrupted")
    assert json.loads((directory / rundir.STATE_FILE).read_text())["reason"] == number.name

    assert command.resume(directory)
    (bundle,) = bundles(tmp_path)
    assert evidence_of(bundle).result["attempt"] == 2
    assert not directory.exists()


ENDLESS = (
    "from harness import processes; from harness.power import sampler\n"
    "processes.TERM_TIMEOUT_S = sampler.STOP_TIMEOUT_S = 1e6\n"
)


def test_a_signal_does_not_wait_long_for_what_does_not_end_by_itself(tmp_path):
    """Torchrun, worker and sampler stand still here, and the waits of any other end are made
    endless."""
    process, directory = start(tmp_path, first=ENDLESS)
    for pid in descendants([process.pid]):
        if pid != process.pid:
            os.kill(pid, signal.SIGSTOP)
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(DEADLINE_S)
    finally:
        process.kill()
    assert gone(tmp_path)
    assert json.loads((directory / rundir.STATE_FILE).read_text())["status"] == "interrupted"


def test_a_signal_while_the_bundle_is_written_takes_effect_once_it_stands(tmp_path, monkeypatch):
    """Then nothing follows it, such as the next run of a sweep."""
    plain = bundle.write

    def disturbed(*arguments: object) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        plain(*arguments)

    monkeypatch.setattr(bundle, "write", disturbed)
    with pytest.raises(rundir.Interrupted), interrupts.signals():
        take(plan(), tmp_path)
        pytest.fail("it went on")
    (made,) = bundles(tmp_path)
    assert evidence_of(made).result["attempt"] == 1 and not (tmp_path / ".running").exists()


def test_kill_9_while_the_workers_start_leaves_no_process(tmp_path):
    process = begin(tmp_path, epoch_s=5.0)
    deadline = time.monotonic() + DEADLINE_S
    while not any("harness.run.worker" in line for line in processes_of(tmp_path)):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.kill()
    process.wait()
    assert gone(tmp_path, within_s=30)


def left_behind(tmp_path: Path, status: str = "interrupted", **changes: object) -> Path:
    """A directory as an interrupted run leaves it."""
    directory = tmp_path / ".left.running"
    directory.mkdir()
    replace(plan(), **changes).save(directory)
    rundir.write_state(directory, status=status, finished_epochs=3)
    return directory


def test_a_run_is_taken_up_from_inside_its_directory(tmp_path, monkeypatch):
    directory = left_behind(tmp_path)
    monkeypatch.chdir(directory)
    assert command.resume(Path())
    assert len(bundles(tmp_path)) == 1


def test_a_signal_before_the_first_attempt_has_begun_leaves_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(Plan, "save", interrupted)
    with pytest.raises(rundir.Interrupted):
        take(plan(), tmp_path)
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
    assert rundir.unfinished(directory).attempt == 1
    assert command.resume(directory)
    (bundle,) = bundles(tmp_path)
    assert evidence_of(bundle).result["attempt"] == 2


def interrupted(*_: object) -> None:
    raise rundir.Interrupted("SIGTERM", signal.SIGTERM)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"devices": ()}, "planned for other accelerators"),
        (
            {"cap_w": 500.0},
            r"one at 500 W as found, and now the limits are others \(SIM-H200-0: 700 W\)",
        ),
        (
            {"found_mw": {"SIM-H200-0": 500_000}},
            r"planned to set the cap of 700 W, which is in force already.*\(SIM-H200-0: 500 W\)",
        ),
        ({"status": "finished"}, "the run is finished"),
    ],
)
def test_a_refused_resume_leaves_everything_as_it_was(tmp_path, changes, says):
    if "devices" in changes:
        changes = {"devices": tuple(open_source("simulated:h100").devices()[:1])}
    directory = left_behind(tmp_path, **changes)
    before = {p.name: p.read_bytes() for p in directory.iterdir()}
    with pytest.raises(PlanError, match=says):
        command.resume(directory)
    assert {p.name: p.read_bytes() for p in directory.iterdir() if p.name != "lock"} == before


def test_a_run_that_is_going_on_is_not_taken_up(tmp_path):
    directory = left_behind(tmp_path, status="running")
    with (
        rundir.held(directory),
        pytest.raises(PlanError, match="another process is still running it"),
    ):
        command.resume(directory)


def test_what_is_no_run_is_not_taken_up(tmp_path):
    with pytest.raises(PlanError, match="no plan of a run there"):
        command.resume(tmp_path)
    (tmp_path / "plan.json").write_text("[]")
    with pytest.raises(PlanError, match="the plan of the run cannot be read"):
        command.resume(tmp_path)


def test_a_worker_that_runs_other_code_than_was_hashed_is_refused(tmp_path):
    with pytest.raises(RunFailed, match="rank 0 runs other code than the harness"):
        take(replace(plan(), source_sha256="0" * 64), tmp_path)


def test_another_model_than_the_workloads_is_refused_before_the_first_epoch(tmp_path):
    with pytest.raises(
        RunFailed, match="built a model of parameters 4160; resnet50-train has 25557032"
    ):
        take(plan("support.implementations:build_small"), tmp_path)


def test_a_directory_of_the_same_name_where_the_run_starts_is_not_imported(tmp_path, monkeypatch):
    fake = tmp_path / "elsewhere" / "harness"
    fake.mkdir(parents=True)
    (fake / "__init__.py").write_text("raise SystemExit('the wrong harness')")
    monkeypatch.chdir(fake.parent)
    assert take(plan(), tmp_path).exists()


def test_running_out_of_memory_is_said_in_a_line_that_helps(tmp_path):
    with pytest.raises(
        RunFailed, match=r"out of memory at batch size 64 .* use a smaller --batch, or --batch auto"
    ):
        take(plan("support.implementations:build_hungry", batch_size=64), tmp_path)
    assert json.loads((tmp_path / ".running" / rundir.STATE_FILE).read_text())["status"] == "failed"
    assert not bundles(tmp_path)


@pytest.mark.parametrize(
    ("gpus", "says"),
    [(1, "RuntimeError: this implementation is broken; the log"), (2, "the log says why")],
)
def test_an_implementation_that_breaks_is_said_and_its_traceback_is_in_the_log(
    tmp_path, gpus, says
):
    with pytest.raises(RunFailed, match=says):
        take(plan("support.implementations:build_broken", gpus=gpus), tmp_path)
    assert "this implementation is broken" in (tmp_path / ".running" / rundir.LOG_FILE).read_text()
    assert gone(tmp_path)


def test_a_loss_that_is_not_finite_makes_a_bundle_that_fails(tmp_path):
    bundle = take(plan("support.implementations:build_diverging"), tmp_path)
    assert [e["loss"] for e in evidence_of(bundle).result["epochs"]] == [None] * 11
    assert judge(bundle, signed=False).status == "fail"


def test_a_run_with_the_batch_that_was_found_is_a_good_one(tmp_path):
    bundle = take(replace(plan("support.implementations:build_hungry"), batch_search=()), tmp_path)
    settings = evidence_of(bundle).result["settings"]
    assert settings["batch_size"] == 12
    trials = settings["batch_search"]
    assert [(t["batch_size"], t["outcome"]) for t in trials] == [
        (4, "ok"),
        (8, "ok"),
        (16, "out-of-memory"),
        (12, "ok"),
        (14, "out-of-memory"),
    ]
    assert all(t["items_per_s"] > 0 for t in trials if t["outcome"] == "ok")
    assert set(evidence_of(bundle).batches["items"]) == {12}
    assert judge(bundle, signed=False).status == "pass"


def test_a_place_that_cannot_be_written_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    command_line = [
        "run",
        "resnet50-train",
        "--smoke",
        "--simulate",
        "h200",
        "-o",
        str(tmp_path / "file"),
    ]
    done = CliRunner().invoke(main, command_line)
    assert done.exit_code == 2 and "cannot be written (Not a directory)" in " ".join(
        done.output.split()
    )


@pytest.mark.parametrize(
    ("start", "limit", "fits", "best"),
    [
        (4, 64, 64, 64),
        (4, 50, 50, 46),
        (8, 64, 1, 1),
        (8, 64, 0, None),
        (1, 1, 1, 1),
        (256, 4096, 700, 640),
    ],
)
def test_the_search_for_a_batch_ends_at_what_fits(start, limit, fits, best):
    tried = []

    def stable(size):
        assert 1 <= size <= limit and size not in tried
        tried.append(size)
        return size <= fits

    assert batchsize._search(start, limit, stable) == best


def test_the_real_workloads_run_from_the_command_line(tmp_path):
    command = [
        "run",
        "vitl16-train",
        "--smoke",
        "--simulate",
        "h200",
        "--variant",
        "baseline",
        "--epoch-seconds",
        "0.5",
    ]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "harness.cli",
            *command,
            "--gpus",
            "2",
            "--batch",
            "4",
            "-o",
            str(tmp_path),
        ],
        capture_output=True,
        check=False,
        text=True,
        timeout=DEADLINE_S,
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
        (
            [
                "resnet50-train",
                "--implementation",
                "no.such:build",
                "--smoke",
                "--simulate",
                "h200",
            ],
            "there is no module no.such",
        ),
        (
            ["resnet50-train", "--implementation", "tiny", "--smoke", "--simulate", "h200"],
            "give package.module:function",
        ),
        (
            ["resnet50-train", "--option", "fast", "--smoke", "--simulate", "h200"],
            "--option fast: give KEY=VALUE",
        ),
        (
            ["resnet50-train", "--request-rate", "3", "--smoke", "--simulate", "h200"],
            "--request-rate: resnet50-train serves no",
        ),
        (
            ["resnet50-train", "--corpus", "nowhere.txt", "--smoke", "--simulate", "h200"],
            "--corpus nowhere.txt: there",
        ),
        (["resnet50-train", "--variant", "fast"], "has no variant 'fast'; it has baseline, tuned"),
        (["resnet50-train", "--simulate", "b300"], "no simulated accelerator 'b300'"),
        (
            ["resnet50-train", "--smoke", "--simulate", "h200", "--gpus", "9"],
            "--gpus 9: the meter sees 8 accelerator",
        ),
        (
            ["resnet50-train", "--smoke", "--simulate", "h200", "--cap", "100"],
            "--cap 100: SIM-H200-0 can be set to 200 to 700 W",
        ),
        (
            ["resnet50-train", "--smoke", "--simulate", "h200", "--cap", "warm"],
            "warm: give watts, or as-found",
        ),
        (
            ["resnet50-train", "--smoke", "--simulate", "h200", "--cap", "nan"],
            "nan: give watts, or as-found",
        ),
        (
            ["resnet50-train", "--smoke", "--simulate", "h200", "--batch", "many"],
            "--batch many: give a number",
        ),
        (
            ["resnet50-train", "--smoke", "--simulate", "h200", "--system", "none.toml"],
            "--system none.toml: cannot be read (No such file or directory)",
        ),
        (
            ["--resume", "nowhere"],
            "nowhere: no plan of a run there; an unfinished run is the hidden directory",
        ),
        (
            ["resnet50-train", "--seed", "2", "--resume", "x"],
            "takes the plan of the run as it is; leave out workload, --seed",
        ),
        (
            ["resnet50-train", "--smoke", "--simulate", "h200", "--epoch-seconds", "nan"],
            "--epoch-seconds nan: give a number",
        ),
        ([], "name a workload"),
    ],
)
def test_a_wish_that_cannot_be_fulfilled_is_refused_with_a_reason(tmp_path, arguments, says):
    where = [] if "--resume" in arguments else ["-o", str(tmp_path)]
    done = CliRunner().invoke(main, ["run", *arguments, *where])
    assert done.exit_code == 2
    assert says in " ".join(done.output.split())
    assert not list(tmp_path.iterdir())


def test_run_has_few_options():
    assert sorted(o for p in main.commands["run"].params for o in p.opts) == [
        "--batch",
        "--cap",
        "--corpus",
        "--epoch-seconds",
        "--gpus",
        "--head",
        "--implementation",
        "--meter",
        "--node",
        "--nodes",
        "--option",
        "--out",
        "--output-tokens",
        "--prompt-tokens",
        "--request-rate",
        "--resume",
        "--seed",
        "--simulate",
        "--smoke",
        "--system",
        "--variant",
        "--weights",
        "-o",
        "workload",
    ]


def test_an_option_that_nothing_knows_ends_the_run_with_a_reason(tmp_path):
    asked = [
        "run",
        "resnet50-train",
        "--smoke",
        "--simulate",
        "h200",
        "--option",
        "turbo=yes",
        "-o",
        str(tmp_path),
    ]
    done = CliRunner().invoke(main, asked)
    assert (
        done.exit_code == 1
        and "resnet50-train takes no --option, --weights or --corpus" in done.output
    )
    assert not bundles(tmp_path)


def test_code_of_ones_own_that_changed_since_the_plan_is_not_run(tmp_path):
    changed = replace(plan(), implementation_sha256="0" * 64)
    with pytest.raises(
        RunFailed,
        match=r"loaded another support.implementations:build than was planned; "
        r"has its file changed\?",
    ):
        take(changed, tmp_path)


def test_closed_and_open_are_told_apart_by_what_is_run():
    def standing(
        workload: str = "llama3-8b-pretrain", device: str = "cuda", **options: object
    ) -> str:
        machine = Machine(
            "nvidia", device, None, tuple(open_source("simulated:h200").devices()[:1]), "P0", 700.0
        )
        return make_plan(
            RunRequest(workload, **options), machine, dict(DESCRIPTION), source_hash()
        ).standing

    assert (
        standing()
        == standing(options=("precision=bf16-mixed",))
        == standing("llama3-8b-serve")
        == "closed"
    )
    assert (
        standing(variant="fp8")
        == standing(corpus=TESTS)
        == standing(implementation="support.implementations:build")
        == "open"
    )
    assert (
        standing("llama3-8b-serve", output_tokens=128)
        == standing("llama3-8b-serve", rate_per_s=10.0)
        == "open"
    )
    assert standing(smoke=True) == standing(epoch_s=29.0) == standing(device="cpu") == "demo"


def test_simulated_source_of_a_user_is_a_demo_even_with_the_torch_device_of_a_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "benchrig.py").write_text(
        "from harness.power.sources.simulated import SimulatedSource\n"
        "class RigSource(SimulatedSource):\n"
        "    torch_device = 'cuda'\n"
    )
    monkeypatch.setattr(sources, "__path__", [*sources.__path__, str(tmp_path)])
    monkeypatch.delitem(sys.modules, "harness.power.sources.benchrig", raising=False)
    devices = tuple(open_source("simulated:h200").devices()[:1])

    def standing(meter: str) -> str:
        machine = Machine(meter, "cuda", None, devices, "P0", 700.0)
        run_request = RunRequest("llama3-8b-pretrain")
        return make_plan(run_request, machine, dict(DESCRIPTION), source_hash()).standing

    assert standing("nvidia") == "closed"
    assert standing("benchrig") == standing("benchrig:h200") == "demo"


def test_on_simulated_accelerators_the_work_is_simulated_too_unless_something_is_to_be_computed():
    def planned(**options: object) -> tuple[str, str, float]:
        made = command.plan_for(RunRequest("resnet50-train", simulate="h200", **options))
        assert made.standing == "demo"
        return made.implementation, made.size, made.epoch_s

    assert planned() == ("harness.simulation.work:build", "smoke", 1.5)
    assert planned(smoke=True) == ("reference.resnet50_train:build", "smoke", 1.5)
    assert planned(implementation="support.implementations:build") == (
        "support.implementations:build",
        "full",
        31.5,
    )


def test_a_plan_says_which_run_of_which_sweep_it_is():
    place = {
        "id": "s",
        "place": 1,
        "of": 6,
        "repeat": 1,
        "order": "random within each repeat",
        "seed": 1,
    }
    assert (
        command.plan_for(RunRequest("resnet50-train", simulate="h200", sweep=place)).sweep == place
    )
    assert command.plan_for(RunRequest("resnet50-train", simulate="h200")).sweep is None


@pytest.mark.parametrize(
    ("dirty", "standing", "warned"),
    [(True, "closed", True), (False, "closed", False), (True, "demo", False)],
)
def test_a_checkout_with_changes_is_told_of_before_the_run(monkeypatch, dirty, standing, warned):
    monkeypatch.setattr(preflight, "git_state", lambda _: {"commit": "0" * 40, "dirty": dirty})
    assert (
        any("M108" in remark for remark in preflight.remarks(replace(plan(), standing=standing)))
        == warned
    )


def test_processes_that_a_worker_has_started_are_its_own():
    shell = subprocess.Popen(["sh", "-c", "sleep 300 & wait"], start_new_session=True)
    try:
        deadline = time.monotonic() + 60
        # Between fork and exec the child is still called sh.
        while (
            names := [Path(f"/proc/{pid}/comm").read_text() for pid in descendants([shell.pid])]
        ) != ["sh\n", "sleep\n"]:
            assert time.monotonic() < deadline, names
            time.sleep(0.05)
        assert os.getpid() not in descendants([shell.pid])
    finally:
        os.killpg(shell.pid, signal.SIGKILL)
        shell.wait()


def test_a_finished_run_says_how_far_its_accelerators_are_apart(tmp_path, capsys):
    take(plan(gpus=2), tmp_path)
    said = capsys.readouterr().out
    assert "W per accelerator" in said and "apart: active time " in said


def free_port() -> int:
    """A port that is free, and the one after it, which torchrun takes: below those that Linux gives
    to whoever asks for any."""
    for port in random.sample(range(20000, 32000), 100):
        with socket.socket() as one, socket.socket() as next_one, suppress(OSError):
            one.bind(("", port))
            next_one.bind(("", port + 1))
            return port
    pytest.fail("no port is free")


def on_node(node: int, head: str, out: Path, *more: str) -> subprocess.Popen:
    """`bench-submit run` as the node of that number of two."""
    asked = [
        "resnet50-train",
        "--smoke",
        "--simulate",
        "h200",
        "--epoch-seconds",
        "0.5",
        "--implementation",
        "support.implementations:build",
    ]
    where = ["--nodes", "2", "--node", str(node), "--head", head, "-o", str(out)]
    command = [sys.executable, "-m", "harness.cli", "run", *asked, *where, *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_two_nodes_make_one_bundle(tmp_path):
    head = f"127.0.0.1:{free_port()}"
    nodes = [on_node(node, head, tmp_path, "--cap", "400") for node in (1, 0)]
    said = [node.communicate(timeout=DEADLINE_S)[0] for node in nodes]
    assert [node.returncode for node in nodes] == [0, 0], "\n".join(said)
    assert "node 0 has the bundle" in said[0] and "pre-check: no errors" in said[1]
    (bundle,) = bundles(tmp_path)
    evidence = evidence_of(bundle)
    result = evidence.result
    assert [(r["rank"], r["node"], r["accelerators"]) for r in result["ranks"]] == [
        (0, "node0", ["SIM-H200-0"]),
        (1, "node1", ["SIM-H200-1"]),
    ]
    assert (result["settings"]["nodes"], result["settings"]["accelerators"]) == (2, 2)
    assert [n["name"] for n in evidence.system["nodes"]] == ["node0", "node1"]
    assert set(evidence.samples["node"]) == {"node0", "node1"}
    assert result["power"]["found_mw"] == {"SIM-H200-0": 700_000, "SIM-H200-1": 700_000}
    assert {r["enforced_mw"] for r in result["readbacks"]} == {400_000}
    assert "== node1 ==" in evidence.log
    assert [(c["node"], c["when"]) for c in result["clocks"]] == [
        (n, w) for n in ("node0", "node1") for w in ("before", "after")
    ]
    assert [p.name for p in tmp_path.iterdir()] == [bundle.name]


def test_nodes_that_plan_different_runs_are_refused(tmp_path):
    head = f"127.0.0.1:{free_port()}"
    nodes = [on_node(0, head, tmp_path), on_node(1, head, tmp_path, "--seed", "2")]
    said = [node.communicate(timeout=DEADLINE_S)[0] for node in nodes]
    assert all(node.returncode == 2 for node in nodes)
    assert all("node 1 has seed 2, node 0 has 1" in one for one in said)
    assert not bundles(tmp_path)


def test_a_node_that_dies_ends_the_run_of_the_other(tmp_path):
    head = f"127.0.0.1:{free_port()}"
    nodes = [on_node(node, head, tmp_path, "--epoch-seconds", "3") for node in (0, 1)]
    deadline = time.monotonic() + DEADLINE_S
    while not any(p.stat().st_size > 100 for p in tmp_path.glob(".*.node1.running/batches.1.csv")):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    nodes[1].kill()
    said = nodes[0].communicate(timeout=DEADLINE_S)[0]
    nodes[1].communicate()
    assert nodes[0].returncode == 1 and "before their last epoch" in said
    assert not bundles(tmp_path) and gone(tmp_path)
