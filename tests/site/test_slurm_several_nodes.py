"""Runs over two nodes in a real Slurm: the job script of docs/several-nodes.md, and the rendered
script of a sweep, whose nodes end together."""

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from support.kills import wait_for
from support.slurm.cluster import JOB_TIMEOUT_S, KILL_WAIT_S, NODES, Slurm
from support.slurm.fixtures import slurm as slurm
from support.slurm.jobs import (
    DEFAULT_CAPS_MW,
    find_harness,
    list_unfinished,
    read_output,
    read_results,
    write_sweep_script,
)

pytestmark = pytest.mark.xdist_group("slurm")
PAGE = Path(__file__).parents[2] / "docs" / "several-nodes.md"


@pytest.fixture(autouse=True)
def names_of_nodes_resolve(slurm: Slurm) -> None:
    done = subprocess.run(
        ["srun", "getent", "hosts", *NODES], env=slurm.environment, capture_output=True, check=False
    )
    if done.returncode != 0:
        pytest.skip("the nodes have no names here: a private /etc/hosts cannot be mounted")


def replace_once(text: str, old: str, new: str) -> str:
    assert old in text, old
    return text.replace(old, new)


def test_job_script_of_the_docs_runs_on_two_nodes(slurm: Slurm, tmp_path: Path) -> None:
    (script,) = re.findall(r"```sh\n(#!/bin/bash\n.*?)```", PAGE.read_text(), re.DOTALL)
    small = "--gpus 1 --smoke --variant baseline --simulate h200 --epoch-seconds 0.3 --cap 500"
    for old, new in (
        ("cpus-per-task=64", "cpus-per-task=1"),
        ("gpus-per-node=4", "gpus-per-node=1"),
        ("--gpus 4", small),
        ("--system system.toml ", ""),
        ("submissions/CENTER/SYSTEM", f"{tmp_path}/out"),
    ):
        script = replace_once(script, old, new)
    path = tmp_path / "job.sbatch"
    path.write_text(script)
    # Both nodes are on this machine, and share its cores.
    job = slurm.submit(path, OMP_NUM_THREADS="1")
    assert slurm.wait_for_state(job)["JobState"] == "COMPLETED", read_output(tmp_path)
    (result,) = read_results(tmp_path)
    assert [(rank["rank"], rank["node"]) for rank in result["ranks"]] == [
        (0, "node0"),
        (1, "node1"),
    ]
    assert (result["settings"]["nodes"], result["slurm_job"]["id"]) == (2, job)
    assert "node 0 has the bundle" in read_output(tmp_path)
    assert "pre-check: no errors" in read_output(tmp_path)
    assert all(slurm.read_caps_mw(node) == DEFAULT_CAPS_MW for node in NODES)


def submit_sweep(slurm: Slurm, folder: Path) -> str:
    """Submit the rendered script of a sweep of one run on two nodes, and wait until both have set
    their caps and are in an epoch."""
    options = ["--nodes", 2, "--caps", 400, "--epoch-seconds", 1]
    script = write_sweep_script(folder, *options)
    job = slurm.submit(script)
    wait_for(lambda: "epoch  0" in read_output(folder), JOB_TIMEOUT_S)
    assert all(400_000 in slurm.read_caps_mw(node) for node in NODES)
    return f"{job}_0"


def test_cancelled_run_restores_the_caps_of_both_nodes_and_starts_anew(
    slurm: Slurm, tmp_path: Path
) -> None:
    job = submit_sweep(slurm, tmp_path)
    slurm.run("scancel", job)
    assert slurm.wait_for_state(job)["JobState"] == "CANCELLED"
    wait_for(lambda: all(slurm.read_caps_mw(n) == DEFAULT_CAPS_MW for n in NODES), KILL_WAIT_S)
    unfinished = list_unfinished(tmp_path)
    assert len(unfinished) == 2 and read_results(tmp_path) == []
    slurm.requeue(job)
    assert slurm.wait_for_state(job)["JobState"] == "COMPLETED", read_output(tmp_path)
    (result,) = read_results(tmp_path)
    assert (result["attempt"], result["slurm_job"]["restarts"]) == (1, 1)
    # A run over several nodes is not resumed.
    assert sorted(list_unfinished(tmp_path)) == sorted(unfinished)


def test_node_that_dies_ends_the_other_which_restores_its_caps(
    slurm: Slurm, tmp_path: Path
) -> None:
    job = submit_sweep(slurm, tmp_path)
    os.kill(find_harness(tmp_path, "--node", "1"), signal.SIGKILL)
    assert slurm.wait_for_state(job)["JobState"] == "FAILED"
    # The watchdog of the killed harness restores the caps of its node.
    wait_for(lambda: all(slurm.read_caps_mw(n) == DEFAULT_CAPS_MW for n in NODES), KILL_WAIT_S)
    assert "before their last epoch" in read_output(tmp_path)
    assert read_results(tmp_path) == []
