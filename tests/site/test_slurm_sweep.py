"""Rendered scripts of `bench-submit sweep --slurm`, run by a real Slurm of two nodes."""

import shlex
from pathlib import Path

import pytest
from support.console.blocks import list_blocks_of
from support.kills import wait_for
from support.slurm.cluster import JOB_TIMEOUT_S, KILL_WAIT_S, NODES, Slurm
from support.slurm.fixtures import slurm as slurm
from support.slurm.jobs import (
    DEFAULT_CAPS_MW,
    list_unfinished,
    read_output,
    read_results,
    write_sweep_script,
)

from checker.engine import judge_all
from harness.run.plan import Plan

pytestmark = pytest.mark.xdist_group("slurm")
PAGE = Path(__file__).parents[2] / "docs" / "sweep.md"
JOB_SCRIPT, SUBMISSIONS = (block.text for block in list_blocks_of(__file__, PAGE))
SUBMIT_ARRAY, _ = (shlex.split(line, comments=True) for line in SUBMISSIONS.splitlines())


def test_single_run_leaves_one_bundle_and_the_caps_that_it_found(
    slurm: Slurm, tmp_path: Path
) -> None:
    write_sweep_script(tmp_path, "--caps", 400, "--epoch-seconds", 0.3)
    submit = ["env", "WATTMARK_SITE_CAP_W=700", *SUBMIT_ARRAY]
    job = slurm.run(*submit, cwd=tmp_path).split()[-1]
    assert slurm.wait_for_state(f"{job}_0")["JobState"] == "COMPLETED", read_output(tmp_path)
    (result,) = read_results(tmp_path)
    assert result["slurm_job"]["site_cap"] == {"cap_w": 700, "source": "environment"}
    # This Slurm has no plugin that counts energy.
    assert result["slurm_job"]["energy"] is None
    assert (result["power"]["mode"], result["power"]["cap_w"]) == ("set", 400)
    assert "pre-check: no errors" in read_output(tmp_path)
    assert all(slurm.read_caps_mw(node) == DEFAULT_CAPS_MW for node in NODES)


def wait_for_epoch(folder: Path, task: int, epoch: int) -> None:
    """Wait until a task of the array has finished an epoch, and is in the next one."""
    sign = f"epoch {epoch:2d}"
    wait_for(
        lambda: any(sign in path.read_text() for path in folder.glob(f"*-{task}-*.out")),
        JOB_TIMEOUT_S,
    )


def test_requeued_task_of_an_array_repeats_its_run_and_no_other(
    slurm: Slurm, tmp_path: Path
) -> None:
    script = write_sweep_script(tmp_path, "--caps", "300:500:100", "--epoch-seconds", 0.4)
    job = slurm.submit(script)
    wait_for_epoch(tmp_path, task=0, epoch=2)
    slurm.requeue(f"{job}_0")
    for task in range(3):
        fields = slurm.wait_for_state(f"{job}_{task}")
        assert fields["JobState"] == "COMPLETED", read_output(tmp_path)
    # A finished task that is queued again finds its bundle.
    slurm.requeue(f"{job}_1")
    assert slurm.wait_for_state(f"{job}_1")["JobState"] == "COMPLETED", read_output(tmp_path)
    results = read_results(tmp_path)
    assert sorted(result["power"]["cap_w"] for result in results) == [300, 400, 500]
    assert sorted(result["attempt"] for result in results) == [1, 1, 2]
    # The runs are one sweep, of which none is missing and none is there twice.
    assert len({result["sweep"]["id"] for result in results}) == 1
    assert sorted(result["sweep"]["place"] for result in results) == [1, 2, 3]
    verdicts = judge_all([tmp_path / "out"], signed=False).verdicts
    rules = {finding.rule for verdict in verdicts for finding in verdict.findings}
    assert len(verdicts) == 3 and not rules & {"X104", "X105"}
    assert list_unfinished(tmp_path) == []
    assert all(slurm.read_caps_mw(node) == DEFAULT_CAPS_MW for node in NODES)


def test_requeued_sweep_in_one_job_resumes_its_plan(slurm: Slurm, tmp_path: Path) -> None:
    """The job script of docs/sweep.md."""
    text = JOB_SCRIPT
    for old, new in (
        ("submissions/CENTER/SYSTEM", f"{tmp_path}/out"),
        ("--gpus-per-node=4", "--gpus-per-node=1"),
        ("--batch 2048 --gpus 4 --caps 200:700:100", "--simulate h200 --caps 400,600"),
        ("--system system.toml", "--epoch-seconds 0.4"),
    ):
        assert old in text, old
        text = text.replace(old, new)
    script = tmp_path / "sweep.sbatch"
    script.write_text(text)
    job = slurm.submit(script, "--time=10")
    wait_for(lambda: "epoch  2" in read_output(tmp_path).partition("run 2 of 2")[2], JOB_TIMEOUT_S)
    slurm.requeue(job)
    assert slurm.wait_for_state(job)["JobState"] == "COMPLETED", read_output(tmp_path)
    results = read_results(tmp_path)
    assert len({result["sweep"]["id"] for result in results}) == 1
    assert sorted((result["sweep"]["place"], result["attempt"]) for result in results) == [
        (1, 1),
        (2, 2),
    ]
    assert list_unfinished(tmp_path) == []
    assert all(slurm.read_caps_mw(node) == DEFAULT_CAPS_MW for node in NODES)


def test_cancelled_run_restores_the_cap_and_is_resumed(slurm: Slurm, tmp_path: Path) -> None:
    script = write_sweep_script(tmp_path, "--caps", 400, "--epoch-seconds", 0.4)
    job = slurm.submit(script)
    wait_for_epoch(tmp_path, task=0, epoch=2)
    node = slurm.read_job(f"{job}_0")["NodeList"]
    assert 400_000 in slurm.read_caps_mw(node)
    slurm.run("scancel", job)
    assert slurm.wait_for_state(f"{job}_0")["JobState"] == "CANCELLED"
    wait_for(lambda: slurm.read_caps_mw(node) == DEFAULT_CAPS_MW, within_s=KILL_WAIT_S)
    (unfinished,) = list_unfinished(tmp_path)
    assert "interrupted" in (tmp_path / "out" / unfinished / "state.json").read_text()
    # No `bench-submit sweep` resumes the run, so the run names its own command.
    assert "run it again with: bench-submit run --resume" in read_output(tmp_path)
    assert read_results(tmp_path) == []
    wrapped = tmp_path / "resume.sbatch"
    wrapped.write_text(f"#!/bin/bash\nsrun bench-submit run --resume {tmp_path}/out/{unfinished}\n")
    resumed = slurm.submit(wrapped)
    assert slurm.wait_for_state(resumed)["JobState"] == "COMPLETED", read_output(tmp_path)
    (result,) = read_results(tmp_path)
    assert result["attempt"] == 2 and list_unfinished(tmp_path) == []


def test_time_limit_ends_a_run_that_restores_its_cap_and_is_resumed(
    slurm: Slurm, tmp_path: Path
) -> None:
    # Slurm checks time limits every 30 s. It sends the signal 15 to 45 s after the start of the
    # job, in the middle of the run.
    script = write_sweep_script(tmp_path, "--caps", 400, "--epoch-seconds", 4)
    job = slurm.submit(script, "--time=1", "--signal=TERM@15")
    wait_for(lambda: "set for this run" in read_output(tmp_path), JOB_TIMEOUT_S)
    node = slurm.read_job(f"{job}_0")["NodeList"]
    wait_for(lambda: 400_000 in slurm.read_caps_mw(node), KILL_WAIT_S)
    fields = slurm.wait_for_state(f"{job}_0")
    assert (fields["JobState"], fields["ExitCode"]) == ("FAILED", "143:0")
    assert slurm.read_caps_mw(node) == DEFAULT_CAPS_MW
    (unfinished,) = list_unfinished(tmp_path)
    assert "SIGTERM" in (tmp_path / "out" / unfinished / "state.json").read_text()
    slurm.requeue(f"{job}_0", "TimeLimit=5")
    wait_for(lambda: Plan.load(tmp_path / "out" / unfinished).attempt == 2, JOB_TIMEOUT_S)
    slurm.run("scancel", job)
    assert list_unfinished(tmp_path) == [unfinished]
