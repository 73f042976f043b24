"""The energy accounting of a real Slurm, whose plugin for nodes of a Cray reads counters of the
test: what the bundle has, and what sacct prints. tests/site/test_slurm_sweep.py has a Slurm that
counts none."""

import subprocess
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.console.blocks import describe_difference, list_blocks_of, match_lines
from support.kills import wait_for
from support.slurm import accounting
from support.slurm.cluster import JOB_TIMEOUT_S, Slurm, explain_missing, start_cluster
from support.slurm.jobs import read_output, read_results

pytestmark = pytest.mark.xdist_group("slurm")
PAGE = Path(__file__).parents[2] / "docs" / "sweep.md"
(BLOCK,) = list_blocks_of(__file__, PAGE)
(SACCT,) = BLOCK.list_steps()
POWER_W = 1000
RUN = "bench-submit run resnet50-train --simulate h200 --batch 64 --epoch-seconds 0.5"


@dataclass(frozen=True)
class Job:
    """A job with one run that has ended, and the cluster that counted its energy."""

    slurm: Slurm
    id: str
    folder: Path


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Job]:
    if reason := explain_missing():
        pytest.skip(reason)
    has_accounting = explain_missing(accounting.PROGRAMS) is None
    with (
        tempfile.TemporaryDirectory(prefix="wattmark-slurm-") as directory,
        start_cluster(Path(directory), has_counters=True, has_accounting=has_accounting) as slurm,
    ):
        sees_counters = ["srun", "test", "-d", "/sys/cray/pm_counters"]
        if subprocess.run(sees_counters, env=slurm.environment, check=False).returncode != 0:
            pytest.skip("the nodes have no counters here: a private /sys/cray cannot be mounted")
        folder = tmp_path_factory.mktemp("job")
        script = folder / "job.sbatch"
        script.write_text(f"#!/bin/bash\nsrun {RUN} --out {folder}/out\n")
        yield Job(slurm, run_with_counters(slurm, script), folder)


def run_with_counters(slurm: Slurm, script: Path) -> str:
    """Run a job on nodes that draw POWER_W. Returns its id."""
    ended = threading.Event()
    start_j = 5_000_000

    def count() -> None:
        energy_j = start_j
        while not ended.wait(0.2):
            energy_j += POWER_W // 5
            slurm.set_counters(energy_j, POWER_W)

    # A step that begins without counters counts nothing.
    slurm.set_counters(start_j, POWER_W)
    counter = threading.Thread(target=count)
    counter.start()
    try:
        job = slurm.submit(script)
        fields = slurm.wait_for_state(job)
    finally:
        ended.set()
        counter.join()
    assert fields["JobState"] == "COMPLETED", read_output(script.parent)
    return job


def test_energy_that_slurm_counts_is_in_the_bundle(job: Job) -> None:
    (result,) = read_results(job.folder)
    energy = result["slurm_job"]["energy"]
    assert energy["plugin"] == "acct_gather_energy/pm_counters"
    # Slurm reads each second. Eleven epochs of 0.5 s take at least 5.5 s, and the job less than
    # two minutes.
    assert 3 * POWER_W < energy["consumed_j"] < 120 * POWER_W
    assert "pre-check: no errors" in read_output(job.folder)


def test_sacct_prints_the_totals_that_the_page_shows(job: Job) -> None:
    if reason := explain_missing(accounting.PROGRAMS):
        pytest.skip(reason)
    assert SACCT.lines and SACCT.command.count("--jobs=1 ") == 1
    command = SACCT.command.replace("--jobs=1 ", f"--jobs={job.id} ").split()
    # slurmctld sends the end of a job a moment later.
    ends = ["sacct", f"--jobs={job.id}", "--noheader", "--format=State"]
    wait_for(lambda: set(job.slurm.run(*ends).split()) == {"COMPLETED"}, JOB_TIMEOUT_S, step_s=0.2)
    printed = job.slurm.run(*command).splitlines()
    assert match_lines(SACCT.lines, printed), describe_difference(SACCT.lines, printed)
    (result,) = read_results(job.folder)
    *_, step_energy_j = printed[-1].split("|")
    assert int(step_energy_j) >= result["slurm_job"]["energy"]["consumed_j"]
