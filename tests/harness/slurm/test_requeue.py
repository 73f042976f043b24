"""Which run or study a requeued job of Slurm resumes. tests/site/ has the same with a real
Slurm."""

import json
import shutil
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from support.harness.session_runs import change_plan, make_test_plan
from support.sweep_runs import BOARDS, RUN_REQUEST, write_bundle

from harness.commands import requeue
from harness.commands.requeue import find_bundle, find_study, find_unfinished
from harness.errors import PlanError
from harness.run.plan import Machine, Plan, RunRequest
from harness.run.planning import make_plan
from harness.run.run_directory import STATE_FILE
from harness.slurm.job import JobEnergy, SlurmJob
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
from harness.system import hash_source

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
    change_plan(plan, **{"job": JOB, **change}).save(directory)
    (directory / STATE_FILE).touch()
    assert find_unfinished(plan, tmp_path) == (directory if is_found else None)
    latest = shutil.copytree(directory, tmp_path / ".run2.running")
    assert find_unfinished(plan, tmp_path) == (latest if is_found else None)
    assert find_unfinished(replace(plan, job=None), tmp_path) is None


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a run in the job."""
    out = tmp_path_factory.mktemp("finished")
    write_bundle(RUN_REQUEST, out, "run", slurm_job=asdict(JOB))
    return out


@pytest.mark.parametrize(
    ("changes", "is_found"),
    [
        ({}, True),
        ({"slurm_job": {"id": "13"}}, False),
        ({"slurm_job": {"step": "1"}}, False),
        ({"slurm_job": {"step": None}}, False),
        ({"slurm_job": {"restarts": 2}}, True),
        ({"settings": {"seed": 2}}, False),
        ({"settings": {"batch_size": 8}}, False),
        ({"power": {"cap_w": 400.0}}, False),
        ({"ranks": [{"rank": 0, "accelerators": ["GPU-other"]}]}, True),
    ],
)
def test_requeued_step_has_its_own_run_already(
    finished: Path, tmp_path: Path, changes: dict[str, Any], is_found: bool
) -> None:
    """Also on other accelerators. No other run of the step is taken for it."""
    run = make_plan(RUN_REQUEST, BOARDS, {}, hash_source())
    plan = replace(run, job=replace(JOB, restarts=1))
    out = shutil.copytree(finished, tmp_path / "out")
    result = json.loads((out / "run" / "result.json").read_text())
    for key, value in changes.items():
        result[key] = {**result[key], **value} if isinstance(value, dict) else value
    (out / "run" / "result.json").write_text(json.dumps(result))
    assert find_bundle(plan, out) == (out / "run" if is_found else None)
    assert find_bundle(replace(plan, job=None), out) is None
    del result["slurm_job"]
    (out / "run" / "result.json").write_text(json.dumps(result))
    assert find_bundle(plan, out) is None


@pytest.mark.parametrize("restarts", ["0", "1"])
@pytest.mark.parametrize("nodes", [1, 2])
@pytest.mark.parametrize("left", ["", "unfinished", "bundle", "bundle and unfinished"])
def test_requeued_job_judges_resumes_or_makes_its_run(
    plan: Plan, left: str, nodes: int, restarts: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_RESTART_COUNT", restarts)
    for name in ("bundle", "unfinished"):
        path = Path(name) if name in left else None
        monkeypatch.setattr(requeue, f"find_{name}", lambda plan, out, path=path: path)
    monkeypatch.setattr(requeue.command, "plan_run", lambda *arguments: plan)
    for name in ("run", "resume", "conclude_run"):
        monkeypatch.setattr(requeue.command, name, lambda first, *rest, name=name: (name, first))
    request = RunRequest("resnet50-train", nodes=nodes)
    is_again = restarts == "1" and nodes == 1
    assert requeue.run(request, Path("out")) == (
        ("conclude_run", Path("bundle"))
        if is_again and "bundle" in left
        else ("resume", Path("unfinished"))
        if is_again and left
        else ("run", request)
    )


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
    # The first session was in no job, the second in another one.
    sessions = [{}, *({"slurm_job": asdict(job)} for job in (replace(JOB, id="11"), JOB))]
    (bundle / "study.json").write_text(json.dumps({"sessions": sessions}))
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
