"""What a run reads of the Slurm job that it is in, with a stand-in for scontrol."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.slurm.job import SiteCap, SlurmJob, SlurmJobError, is_requeued, read_job
from rules.json_record import from_json, to_json

STEP = {"SLURM_JOB_ID": "12", "SLURM_STEP_ID": "0"}
JOB = """\
JobId=12 JobName=sweep Comment=wattmark-cap=999
   UserId=root(0) GroupId=root(0) MCS_label=N/A
   Comment={comment}
   StdErr=/root/slurm-12.out
"""


@pytest.fixture
def make_environment(tmp_path: Path) -> Callable[[str], dict[str, str]]:
    """The environment of a step of a job with a comment, which scontrol prints."""

    def make(comment: str) -> dict[str, str]:
        program = tmp_path / "scontrol"
        program.write_text(f"#!/bin/sh\ncat <<'JOB'\n{JOB.format(comment=comment)}JOB\n")
        program.chmod(0o755)
        return {**STEP, "PATH": f"{tmp_path}:{os.environ['PATH']}"}

    return make


def test_process_outside_slurm_has_no_job() -> None:
    assert read_job({}) is None and not is_requeued({})


def test_task_of_an_array_has_job_step_task_and_restarts() -> None:
    environment = {**STEP, "SLURM_ARRAY_TASK_ID": "3", "SLURM_RESTART_COUNT": "2", "PATH": ""}
    job = read_job(environment)
    assert job == SlurmJob("12", "0", 2, 3, None) and is_requeued(environment)
    assert from_json(SlurmJob, to_json(job)) == job


def test_batch_script_without_srun_is_in_no_step() -> None:
    job = read_job({"SLURM_JOB_ID": "12", "PATH": ""})
    assert job is not None and job.step is None and not job.is_same_step("12", None)


@pytest.mark.parametrize(
    ("comment", "cap_w"),
    [
        ("wattmark-cap=400", 400),
        ("project x, wattmark-cap=350;urgent", 350),
        ("wattmark-cap=400 wattmark-cap=300", 400),
        ("wattmark-cap=0400", None),
        ("wattmark-cap=400W", None),
        ("not-wattmark-cap=400", None),
        ("", None),
    ],
)
def test_cap_of_the_comment_is_the_one_that_the_prolog_sets(
    make_environment: Callable[[str], dict[str, str]], comment: str, cap_w: float | None
) -> None:
    job = read_job(make_environment(comment))
    assert job is not None
    assert job.site_cap == (None if cap_w is None else SiteCap(cap_w, "comment"))
    assert from_json(SlurmJob, to_json(job)) == job


def test_cap_of_the_environment_counts_before_that_of_the_comment(
    make_environment: Callable[[str], dict[str, str]],
) -> None:
    environment = {**make_environment("wattmark-cap=400"), "WATTMARK_SITE_CAP_W": "500"}
    job = read_job(environment)
    assert job is not None and job.site_cap == SiteCap(500, "environment")
    with pytest.raises(SlurmJobError, match="WATTMARK_SITE_CAP_W=500W: give whole watts"):
        read_job({**environment, "WATTMARK_SITE_CAP_W": "500W"})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("SLURM_JOB_ID", ""),
        ("SLURM_JOB_ID", "\x1b[31m"),
        ("SLURM_STEP_ID", "a b"),
        ("SLURM_RESTART_COUNT", "x"),
        ("SLURM_RESTART_COUNT", "-1"),
        ("SLURM_ARRAY_TASK_ID", "9" * 30),
    ],
)
def test_wrong_variable_of_the_job_is_named(name: str, text: str) -> None:
    environment = {**STEP, "SLURM_RESTART_COUNT": "0", "PATH": "", name: text}
    assert is_requeued(environment) == (name == "SLURM_RESTART_COUNT")
    with pytest.raises(SlurmJobError, match=f"^{name}=.*: .*unset it$"):
        read_job(environment)
