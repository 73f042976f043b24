"""Slurm's prolog and epilog of scripts/, run by a real slurmd: they set the cap that a job requests
and restore what a job has left, however it ended.

The boards are those of the C library of the tests, under the real nvidia-ml-py.
"""

import os
import shlex
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from support.bindings.boards import FOUND_MW
from support.bindings.build import SOURCES, needs_cc
from support.bindings.fixtures import libraries as libraries
from support.bindings.sandbox import SMOKE_RUN
from support.console.blocks import list_blocks_of
from support.kills import wait_for
from support.slurm.cluster import JOB_TIMEOUT_S, Slurm
from support.slurm.fixtures import slurm as slurm
from support.slurm.jobs import find_harness, read_output, read_results
from support.slurm.nodes import CapNode, make_nodes, remove_scripts

from harness.processes import list_descendants

pytestmark = [needs_cc, pytest.mark.xdist_group("slurm")]
DEFAULT_LIMITS_MW = [FOUND_MW, FOUND_MW]
RUN = ["bench-submit", *SMOKE_RUN, "--meter=nvidia_on_cpu"]
METERS = SOURCES / "meters"
PAGE = Path(__file__).parents[2] / "docs" / "sweep.md"
(SUBMISSIONS,) = list_blocks_of(__file__, PAGE)
_, SUBMIT_JOBS = (shlex.split(line, comments=True) for line in SUBMISSIONS.text.splitlines())
LONG_EPOCH_S = 1


@pytest.fixture
def nodes(slurm: Slurm, tmp_path: Path, libraries: Path) -> Iterator[dict[str, CapNode]]:
    yield make_nodes(slurm, tmp_path, libraries)
    remove_scripts(slurm)


@pytest.fixture
def node(nodes: dict[str, CapNode]) -> CapNode:
    return nodes["n1"]


def write_job(folder: Path, *options: object) -> Path:
    path = folder / "job.sbatch"
    command = [*RUN, f"--out={folder}/out", *options]
    path.write_text(f"#!/bin/bash\nsrun {' '.join(map(str, command))}\n")
    return path


def submit(slurm: Slurm, node: CapNode, script: Path, *options: str) -> str:
    return slurm.submit(script, f"--nodelist={node.name}", "--exclusive", *options)


def test_prolog_sets_the_cap_of_the_comment_and_the_epilog_restores_it(
    slurm: Slurm, node: CapNode, tmp_path: Path
) -> None:
    script = write_job(tmp_path, "--cap=400")
    job = submit(slurm, node, script, "--comment=project x, wattmark-cap=400")
    assert slurm.wait_for_state(job)["JobState"] == "COMPLETED", read_output(tmp_path)
    (result,) = read_results(tmp_path)
    assert (result["power"]["mode"], result["power"]["cap_w"]) == ("as-found", 400)
    assert result["slurm_job"]["site_cap"] == {"cap_w": 400, "source": "comment"}
    assert result["slurm_job"]["id"] == job
    assert [board.sets for board in node.boards.board[:2]] == [2, 2]
    assert node.limits_mw == DEFAULT_LIMITS_MW and node.leftovers == []


def test_prolog_that_asks_the_controller_sets_the_cap_of_the_comment(
    slurm: Slurm, node: CapNode, tmp_path: Path
) -> None:
    """As in versions of Slurm that pass no comment to the prolog."""
    node.site.install("slurm-prolog.sh", ASK_SCONTROL="yes")
    prolog = node.site.bin / "slurm-prolog.sh"
    slurm.install(node.name, "prolog", f"#!/bin/sh\nunset SLURM_JOB_COMMENT\nexec {prolog}\n")
    script = tmp_path / "job.sbatch"
    script.write_text("#!/bin/bash\ntrue\n")
    job = submit(slurm, node, script, "--comment=project x, wattmark-cap=400")
    assert slurm.wait_for_state(job)["JobState"] == "COMPLETED"
    assert [board.sets for board in node.boards.board[:2]] == [2, 2]
    assert node.limits_mw == DEFAULT_LIMITS_MW and node.leftovers == []


def test_epilog_restores_the_cap_of_the_prolog_after_a_job_that_was_killed(
    slurm: Slurm, node: CapNode, tmp_path: Path
) -> None:
    script = write_job(tmp_path, "--cap=400", f"--epoch-seconds={LONG_EPOCH_S}")
    job = submit(slurm, node, script, "--comment=wattmark-cap=400")
    wait_for(lambda: "epoch  0" in read_output(tmp_path), JOB_TIMEOUT_S)
    assert node.limits_mw == [400_000, 400_000]
    slurm.run("scancel", "--signal=KILL", "--full", job)
    slurm.wait_for_state(job)
    assert node.limits_mw == DEFAULT_LIMITS_MW and node.leftovers == []
    assert read_results(tmp_path) == []


def test_epilog_restores_what_a_run_that_was_killed_with_its_watchdog_has_set(
    slurm: Slurm, node: CapNode, tmp_path: Path
) -> None:
    script = write_job(tmp_path, "--cap=400", "--sm-clock=1200", f"--epoch-seconds={LONG_EPOCH_S}")
    job = submit(slurm, node, script)
    wait_for(lambda: "epoch  0" in read_output(tmp_path), JOB_TIMEOUT_S)
    assert (node.limits_mw, node.locks_mhz) == ([400_000, FOUND_MW], [1200, 0])
    assert "caps.json" in node.leftovers and len(node.leftovers) == 2
    # As Slurm with control groups does. With other trackers it does not find the watchdog.
    harness = find_harness(tmp_path)
    for pid in (harness, *list_descendants([harness])):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    slurm.wait_for_state(job)
    assert (node.limits_mw, node.locks_mhz) == (DEFAULT_LIMITS_MW, [0, 0])
    assert node.leftovers == []


def test_epilog_that_cannot_restore_drains_the_node(
    slurm: Slurm, node: CapNode, tmp_path: Path
) -> None:
    script = write_job(tmp_path, "--cap=400")
    script.write_text("#!/bin/bash\ntouch started; while [ ! -e broken ]; do sleep 0.1; done\n")
    job = submit(slurm, node, script, "--comment=wattmark-cap=400")
    wait_for((tmp_path / "started").exists, JOB_TIMEOUT_S)
    node.boards.board[1].fail("nvmlDeviceSetPowerManagementLimit", 999)
    (tmp_path / "broken").touch()
    slurm.wait_for_state(job)
    try:
        wait_for(lambda: "drain" in list_states(slurm, node), JOB_TIMEOUT_S)
        assert "wattmark-cap: GPU 1: 700 W could not be set" in node.site.log
        assert node.limits_mw == [FOUND_MW, 400_000]
    finally:
        slurm.run("scontrol", "update", f"NodeName={node.name}", "State=RESUME")
        wait_for(lambda: list_states(slurm, node) == "idle", JOB_TIMEOUT_S)


def list_states(slurm: Slurm, node: CapNode) -> str:
    return slurm.run("sinfo", "--noheader", f"--nodes={node.name}", "--format=%T").strip()


def test_script_run_by_hand_submits_jobs_whose_caps_the_prolog_sets(
    slurm: Slurm, nodes: dict[str, CapNode], tmp_path: Path
) -> None:
    smoke = [*SMOKE_RUN[1:], "--meter=nvidia_on_cpu"]
    command = [
        "bench-submit",
        "sweep",
        *smoke,
        "--slurm",
        "--caps=300,500",
        f"--out={tmp_path}/out",
    ]
    script = tmp_path / "sweep.sbatch"
    # In a process of its own, because meters are found once in a process.
    script.write_text(slurm.run("env", f"WATTMARK_SOURCES={METERS}", *command))
    submitted = slurm.run(*SUBMIT_JOBS, cwd=tmp_path)
    jobs = [line.split()[-1] for line in submitted.splitlines()]
    assert len(jobs) == 2
    for number, job in enumerate(jobs):
        fields = slurm.wait_for_state(f"{job}_{number}")
        assert fields["JobState"] == "COMPLETED", read_output(tmp_path)
    results = sorted(read_results(tmp_path), key=lambda result: result["power"]["cap_w"])
    assert [(r["power"]["mode"], r["power"]["cap_w"]) for r in results] == [
        ("as-found", 300),
        ("as-found", 500),
    ]
    assert [r["slurm_job"]["site_cap"]["cap_w"] for r in results] == [300, 500]
    assert all(
        node.limits_mw == DEFAULT_LIMITS_MW and node.leftovers == [] for node in nodes.values()
    )
