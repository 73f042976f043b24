"""Which run a requeued job of Slurm resumes. tests/site/ has the same with a real Slurm."""

from dataclasses import replace
from pathlib import Path

import pytest
from support.harness.session_runs import make_test_plan

from harness.run.plan import Plan
from harness.run.run_directory import STATE_FILE
from harness.slurm.job import SlurmJob
from harness.slurm.requeue import find_unfinished

JOB = SlurmJob(id="12", step="0", restarts=0, array_task=None, site_cap=None)


@pytest.fixture
def plan() -> Plan:
    return replace(make_test_plan(), job=replace(JOB, restarts=1))


@pytest.mark.parametrize(
    ("change", "is_found"),
    [
        ({}, True),
        ({"job": replace(JOB, id="13")}, False),
        ({"job": replace(JOB, step="1")}, False),
        ({"job": replace(JOB, step=None)}, False),
        ({"job": None}, False),
        ({"seed": 2}, False),
        ({"cap_w": 400.0}, False),
        ({"devices": make_test_plan(gpus=2).devices}, False),
    ],
)
def test_requeued_step_resumes_its_own_run_only(
    plan: Plan, tmp_path: Path, change: dict[str, object], is_found: bool
) -> None:
    directory = tmp_path / ".run.running"
    directory.mkdir()
    replace(plan, **{"job": JOB, **change}).save(directory)
    (directory / STATE_FILE).touch()
    assert find_unfinished(plan, tmp_path) == (directory if is_found else None)


def test_run_that_never_began_and_a_damaged_plan_are_not_resumed(
    plan: Plan, tmp_path: Path
) -> None:
    for name in ("unstarted", "damaged"):
        (tmp_path / f".{name}.running").mkdir()
        plan.save(tmp_path / f".{name}.running")
    (tmp_path / ".damaged.running" / "plan.json").write_text("{")
    assert find_unfinished(plan, tmp_path) is None
