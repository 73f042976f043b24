"""Which run or study a requeued job of Slurm resumes. tests/site/ has the same with a real
Slurm."""

import json
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from support.harness.session_runs import make_test_plan

from harness.run.plan import Machine, Plan, PlanError, RunRequest
from harness.run.run_directory import STATE_FILE
from harness.slurm.job import JobEnergy, SlurmJob
from harness.slurm.requeue import find_study, find_unfinished
from harness.studies.earlier import EarlierStudy
from harness.studies.plan import (
    SIMULATED_MODELS,
    STUDY,
    SessionPlan,
    SessionRecord,
    StudyEntry,
    StudyPlan,
    StudySettings,
)
from harness.studies.planning import StudyRequest
from harness.studies.state import StudyState
from harness.studies.study_directory import SessionDirectory

JOB = SlurmJob(id="12", step="0", restarts=0, array_task=None, site_cap=None)
STUDY_PLAN = StudyPlan(
    study_id="a-study",
    seed=1,
    settings=StudySettings("resnet18@224", ("cudagraph",), ("bf16",)),
    work=(StudyEntry("resnet18", 224, "cudagraph", "bf16"),),
    implementation=SIMULATED_MODELS,
    implementation_sha256="0" * 64,
    accuracy_sha256="0" * 64,
    system={},
    source_sha256="0" * 64,
)


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


def save_study(folder: Path, study_id: str, job: SlurmJob | None) -> Path:
    """Write the directory of an unfinished study with a session in the job."""
    directory = folder / f".{study_id}.running"
    directory.mkdir()
    replace(STUDY_PLAN, study_id=study_id).save(directory)
    machine = Machine("simulated:h200", "cuda", None, (), None, 700.0)
    session = SessionPlan.of(study_id, 0, machine, job)
    record = SessionRecord(session, {}, {}, "0" * 64, datetime.now(UTC))
    SessionDirectory.create(directory, record)
    return directory


@pytest.mark.parametrize(
    ("job", "is_found"),
    [
        (replace(JOB, energy=JobEnergy(2100, "acct_gather_energy/ipmi")), True),
        (replace(JOB, id="13"), False),
        (replace(JOB, step=None), False),
        (None, False),
    ],
)
def test_requeued_step_continues_its_own_study_only(
    tmp_path: Path, job: SlurmJob | None, is_found: bool
) -> None:
    directory = save_study(tmp_path, "20261123T100000Z-study", job)
    assert find_study(JOB, tmp_path) == (directory if is_found else None)


def test_requeued_step_continues_the_latest_of_its_studies(tmp_path: Path) -> None:
    save_study(tmp_path, "20261123T100000Z-study", JOB)
    bundle = tmp_path / "20261123T110000Z-study"
    bundle.mkdir()
    (bundle / "study.json").write_text(json.dumps({"sessions": [{"slurm_job": asdict(JOB)}]}))
    assert find_study(JOB, tmp_path) == bundle
    latest = save_study(tmp_path, "20261123T120000Z-study", JOB)
    assert find_study(JOB, tmp_path) == latest
    # A kill after the bundle was written leaves the directory beside it.
    save_study(tmp_path, "20261123T130000Z-study", JOB)
    (tmp_path / "20261123T130000Z-study").mkdir()
    assert find_study(JOB, tmp_path) == latest


def test_same_command_is_no_other_setting_of_the_study(tmp_path: Path) -> None:
    earlier = EarlierStudy(tmp_path, STUDY_PLAN, StudyState(None, ()), is_bundle=False)
    run = RunRequest(STUDY)
    earlier.refuse_other_settings(StudyRequest(run, engines="cudagraph, cudagraph", seed=1))
    with pytest.raises(PlanError, match=r"--engine: the study .* has cudagraph, and all"):
        earlier.refuse_other_settings(StudyRequest(run, engines="eager, cudagraph"))


@pytest.mark.parametrize("text", ["{", "[]", '{"sessions": [3]}', "{}", '{"sessions": null}'])
def test_file_that_is_no_study_is_passed_over(tmp_path: Path, text: str) -> None:
    (tmp_path / "bundle").mkdir()
    (tmp_path / "bundle" / "study.json").write_text(text)
    (tmp_path / ".damaged.running").mkdir()
    (tmp_path / ".damaged.running" / "plan.json").write_text(text)
    assert find_study(JOB, tmp_path) is None
