"""Whole runs on this machine's CPU under torchrun: what they leave when they end well or fail."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.harness.session_runs import (
    TESTS,
    carry_out,
    change_plan,
    find_bundles,
    make_test_plan,
    read_evidence,
    wait_until_gone,
)
from support.kills import DEADLINE_S

from checker.engine import judge
from harness.cli import main
from harness.errors import MachineError, PlanError
from harness.power.caps.watchdog import WatchdogError
from harness.processes import list_descendants
from harness.run import batch_size as batchsize
from harness.run import command
from harness.run import run_directory as rundir
from harness.run.repeats import compare_bundles, explain_others, find_repeats, is_repeat
from harness.run.result_lines import describe_results
from harness.run.session import RunFailed, RunUnwritable

pytestmark = pytest.mark.xdist_group("session")


@pytest.fixture(autouse=True)
def workers_find_the_tests(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(TESTS))


def test_a_run_leaves_a_bundle_that_lacks_only_its_signature(tmp_path):
    plan = make_test_plan()
    bundle = carry_out(plan, tmp_path)
    assert [f for f in judge(bundle, signed=False).findings if f.severity == "error"] == []
    evidence = read_evidence(bundle)
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
    assert wait_until_gone(tmp_path)
    # It is a repeat of its own plan and of no other one (`--until-ci`).
    joules_per_item = evidence.result["headline"]["joules_per_item"]["mean"]
    assert find_repeats(plan, tmp_path) == {plan.configuration.seed: joules_per_item}
    for name, change in (
        ("batch_size", {"batch_size": 8}),
        ("cap_w", {"cap_w": 500.0}),
        ("source_sha256", {"source_sha256": "0" * 64}),
    ):
        changed_plan = change_plan(plan, **change)
        assert find_repeats(changed_plan, tmp_path) == {}
        assert list(explain_others(changed_plan, tmp_path)) == [
            f"{bundle}: does not count, because it differs in: {name}"
        ]
    assert not list(explain_others(plan, tmp_path))


@pytest.mark.parametrize("name", ["weights", "corpus"])
def test_repeats_read_files_of_equal_content(tmp_path, name):
    """Other weights or another corpus make another run, wherever the files are."""
    plan = make_test_plan()
    (tmp_path / "out").mkdir()
    bundle = carry_out(plan, tmp_path / "out")
    paths = {key: tmp_path / key for key in ("first", "copy", "other")}
    for key, path in paths.items():
        path.write_text("other" if key == "other" else "same")
    sha256 = hashlib.sha256(b"same").hexdigest()
    stated = {"weights": {"weights": f"sha256:{sha256}"}, "corpus": {"corpus_sha256": sha256}}[name]
    result = json.loads((bundle / "result.json").read_text())
    result["settings"] |= stated
    (bundle / "result.json").write_text(json.dumps(result))
    field = next(iter(stated))

    def compare(path):
        changed = change_plan(plan, **{name: path and str(path)})
        return [differences for _, _, differences in compare_bundles(changed, tmp_path / "out")]

    assert compare(paths["first"]) == compare(paths["copy"]) == [[]]
    assert compare(paths["other"]) == compare(None) == [[field]]
    paths["first"].write_text("changed since")
    assert compare(paths["first"]) == [[field]]
    paths["first"].unlink()
    with pytest.raises(PlanError, match="first: cannot be read"):
        compare(paths["first"])


@pytest.mark.parametrize("name", ["weights", "corpus"])
def test_unfinished_run_with_another_file_is_not_resumed(tmp_path, name):
    plans = {}
    for key in ("same", "other"):
        (tmp_path / key).write_text(key)
        plans[key] = change_plan(make_test_plan(), **{name: str(tmp_path / key)})
    assert is_repeat(plans["same"], plans["same"])
    assert not is_repeat(plans["other"], plans["same"])
    (tmp_path / "other").unlink()
    assert not is_repeat(plans["other"], plans["same"])


def test_two_ranks_have_each_their_own_accelerator_and_equal_batches(tmp_path, capsys):
    evidence = read_evidence(carry_out(make_test_plan(gpus=2), tmp_path))
    output = capsys.readouterr().out
    assert "per accelerator), computed by the CPU" in output
    # Real code beside simulated boards shows its throughput only.
    sampling = {**evidence.result["sampling"], "meter": "nvidia"}
    first, *lines = describe_results({**evidence.result, "sampling": sampling})
    assert "W per accelerator" in first
    assert any("differences between accelerators: active time " in line for line in lines)
    assert [r["accelerators"] for r in evidence.result["ranks"]] == [["SIM-H200-0"], ["SIM-H200-1"]]
    batches = evidence.batches.groupby(["epoch", "rank"]).size()
    assert batches.nunique() == 1 and len(batches) == 22
    figures = evidence.result["headline"]
    assert figures["items_per_s"]["mean"] == pytest.approx(
        2 * figures["items_per_s_per_accelerator"]["mean"]
    )


def test_a_worker_that_runs_other_code_than_was_hashed_is_refused(tmp_path):
    with pytest.raises(RunFailed, match="rank 0 runs other code than the harness"):
        carry_out(change_plan(make_test_plan(), source_sha256="0" * 64), tmp_path)


def test_another_model_than_the_workloads_is_refused_before_the_first_epoch(tmp_path):
    with pytest.raises(
        RunFailed, match="built a model with 4160 parameters; resnet50-train has 25557032"
    ):
        carry_out(make_test_plan("support.implementations:build_small"), tmp_path)


def test_a_directory_of_the_same_name_where_the_run_starts_is_not_imported(tmp_path, monkeypatch):
    fake = tmp_path / "elsewhere" / "harness"
    fake.mkdir(parents=True)
    (fake / "__init__.py").write_text("raise SystemExit('the wrong harness')")
    monkeypatch.chdir(fake.parent)
    assert carry_out(make_test_plan(), tmp_path).exists()


def test_running_out_of_memory_is_said_in_a_line_that_helps(tmp_path):
    with pytest.raises(
        RunFailed, match=r"out of memory at batch size 64 .* use a smaller --batch, or --batch auto"
    ):
        carry_out(make_test_plan("support.implementations:build_hungry", batch_size=64), tmp_path)
    assert json.loads((tmp_path / ".running" / rundir.STATE_FILE).read_text())["status"] == "failed"
    assert not find_bundles(tmp_path)


@pytest.mark.parametrize(
    ("gpus", "message"),
    [(1, "RuntimeError: this implementation is broken; the log"), (2, "the log says why")],
)
def test_an_implementation_that_breaks_is_said_and_its_traceback_is_in_the_log(
    tmp_path, gpus, message
):
    with pytest.raises(RunFailed, match=message):
        carry_out(make_test_plan("support.implementations:build_broken", gpus=gpus), tmp_path)
    assert "this implementation is broken" in (tmp_path / ".running" / rundir.LOG_FILE).read_text()
    assert wait_until_gone(tmp_path)


def test_a_loss_that_is_not_finite_makes_a_bundle_that_fails(tmp_path):
    bundle = carry_out(make_test_plan("support.implementations:build_diverging"), tmp_path)
    assert [e["loss"] for e in read_evidence(bundle).result["epochs"]] == [None] * 11
    assert judge(bundle, signed=False).status == "fail"


def test_what_lives_after_the_warm_up_is_not_searched_for_garbage_in_epochs(tmp_path):
    bundle = carry_out(make_test_plan("support.implementations:build_garbage_counting"), tmp_path)
    assert min(epoch["loss"] for epoch in read_evidence(bundle).result["epochs"]) > 10_000


def test_a_run_with_the_batch_that_was_found_is_a_good_one(tmp_path):
    bundle = carry_out(
        change_plan(make_test_plan("support.implementations:build_hungry"), batch_search=()),
        tmp_path,
    )
    settings = read_evidence(bundle).result["settings"]
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
    assert set(read_evidence(bundle).batches["items"]) == {12}
    assert judge(bundle, signed=False).status == "pass"


def test_full_disk_ends_a_run_with_its_directory_and_a_remedy(tmp_path):
    plan = make_test_plan("support.implementations:build_on_full_disk")
    with pytest.raises(RunUnwritable) as caught:
        carry_out(plan, tmp_path)
    message = f"rank 0: {tmp_path}/.running: cannot be written: No space left on device ("
    assert str(caught.value).startswith(message)
    assert "MB free); make room" in str(caught.value)


def test_a_watchdog_that_died_ends_the_search_for_a_batch(tmp_path, monkeypatch):
    def refuse() -> None:
        raise WatchdogError("no watchdog starts")

    monkeypatch.setattr(command, "applied_cap", lambda plan: nullcontext(refuse))
    monkeypatch.setattr(batchsize, "WATCH_S", 0.1, raising=False)
    plan = change_plan(make_test_plan("support.implementations:build_hungry"), batch_search=())
    with pytest.raises(WatchdogError, match="no watchdog starts"):
        carry_out(plan, tmp_path)
    assert [path.name for path in (tmp_path / ".running").glob("trial-*")] == ["trial-4"]
    assert wait_until_gone(tmp_path)


def test_boards_that_do_not_keep_their_locked_clock_end_the_run_after_its_first_epoch(
    tmp_path, monkeypatch
):
    """The driver accepts the lock. Only the samples under load show that it is not in force."""
    monkeypatch.setattr(command, "applied_cap", lambda plan: nullcontext(lambda: None))
    says = r"SIM-H200-0: the SM clock was locked at 1200 MHz, and 100 % of the samples of epoch 0"
    with pytest.raises(MachineError, match=says):
        carry_out(change_plan(make_test_plan(), sm_clock_mhz=1200), tmp_path)
    state = json.loads((tmp_path / ".running" / rundir.STATE_FILE).read_text())
    assert state["status"] == "failed" and not find_bundles(tmp_path)
    assert wait_until_gone(tmp_path)


def test_a_bundle_is_on_disk_before_the_files_of_its_run_are_removed(tmp_path, monkeypatch):
    """A power cut would otherwise lose a finished run."""
    calls = []
    plain_fsync, plain_rename, plain_rmtree = os.fsync, Path.rename, shutil.rmtree

    def fsync(descriptor):
        calls.append(("sync", Path(f"/proc/self/fd/{descriptor}").readlink().name))
        plain_fsync(descriptor)

    def rename(path, target):
        calls.append(("rename", Path(target).name))
        return plain_rename(path, target)

    def rmtree(path, *arguments, **options):
        calls.append(("remove", Path(path).name))
        plain_rmtree(path, *arguments, **options)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "rename", rename)
    monkeypatch.setattr(shutil, "rmtree", rmtree)
    bundle = carry_out(make_test_plan(), tmp_path)
    draft = f".{bundle.name}.writing"
    start = calls.index(("sync", ".MANIFEST.json.writing"))
    steps = [call for call in calls[start:] if call[1] in (draft, bundle.name, tmp_path.name)]
    assert steps == [("sync", draft), ("rename", bundle.name), ("sync", tmp_path.name)]
    assert calls.index(("sync", tmp_path.name)) < calls.index(("remove", ".running"))


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
    result = CliRunner().invoke(main, command_line)
    assert result.exit_code == 3 and "file is no directory" in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("start", "limit", "fits", "highest"),
    [
        (4, 64, 64, 64),
        (4, 50, 50, 46),
        (8, 64, 1, 1),
        (8, 64, 0, None),
        (1, 1, 1, 1),
        (256, 4096, 700, 640),
    ],
)
def test_the_search_for_a_batch_ends_at_what_fits(start, limit, fits, highest):
    sizes = []

    def stable(size):
        assert 1 <= size <= limit and size not in sizes
        sizes.append(size)
        return size <= fits

    assert batchsize._search(start, limit, stable) == highest


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
    result = subprocess.run(
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
    assert result.returncode == 0, result.stdout + result.stderr
    assert "pre-check: no errors" in result.stdout
    (bundle,) = tmp_path.iterdir()
    losses = [e["loss"] for e in read_evidence(bundle).result["epochs"]]
    assert losses[-1] < losses[0]


def test_processes_that_a_worker_has_started_are_its_own():
    shell = subprocess.Popen(["sh", "-c", "sleep 300 & wait"], start_new_session=True)
    try:
        deadline = time.monotonic() + 60
        # Between fork and exec the child is still called sh.
        while (
            names := [
                Path(f"/proc/{pid}/comm").read_text() for pid in list_descendants([shell.pid])
            ]
        ) != ["sh\n", "sleep\n"]:
            assert time.monotonic() < deadline, names
            time.sleep(0.05)
        assert os.getpid() not in list_descendants([shell.pid])
    finally:
        os.killpg(shell.pid, signal.SIGKILL)
        shell.wait()
