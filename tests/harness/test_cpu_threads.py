"""`--cpu-threads`: what the workers get, what the bundle states, and who must agree in it."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import Submissions, copy_evidence
from support.harness.session_runs import carry_out, change_plan, make_test_plan

from harness.cli import main
from harness.reproduce import make_reproduction_request
from harness.run.plan import PLAN_FILE, Plan
from harness.run.repeats import is_repeat
from harness.run.settings import describe_plan, describe_run
from harness.run.workers.launch import make_worker_environment
from rules.declarations.run import RunDeclaration
from rules.declarations.system import EnvironmentDeclaration

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("torch_device", ["cpu", "cuda"])
def test_workers_have_the_threads_of_the_plan(
    torch_device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    plan = change_plan(make_test_plan(), torch_device=torch_device)
    assert make_worker_environment(plan)["OMP_NUM_THREADS"] == "7"
    assert make_worker_environment(change_plan(plan, cpu_threads=3))["OMP_NUM_THREADS"] == "3"


def test_bundle_states_the_threads_and_agrees_with_its_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{ROOT / 'tests'}")
    plan = change_plan(make_test_plan(), cpu_threads=3)
    bundle = carry_out(plan, tmp_path)
    result, environment = (
        json.loads((bundle / f"{name}.json").read_text()) for name in ("result", "environment")
    )
    assert result["settings"]["cpu_threads"] == 3
    assert environment["variables"]["OMP_NUM_THREADS"] == "3"
    run, software = (
        RunDeclaration.from_document(result),
        EnvironmentDeclaration.from_document(environment),
    )
    assert describe_run(run, software) == describe_plan(plan)
    assert describe_run(run, software) != describe_plan(change_plan(plan, cpu_threads=None))


def test_plan_of_a_version_without_the_setting_is_read(tmp_path: Path) -> None:
    plan = make_test_plan()
    plan.save(tmp_path)
    document = json.loads((tmp_path / PLAN_FILE).read_text())
    assert document.pop("cpu_threads") is None and "workload" in document and "meter" in document
    (tmp_path / PLAN_FILE).write_text(json.dumps(dict(reversed(document.items()))))
    assert Plan.load(tmp_path) == plan


def test_run_with_other_threads_is_no_repeat(tmp_path: Path) -> None:
    plan = change_plan(make_test_plan(), cpu_threads=3)
    plan.save(tmp_path)
    assert is_repeat(Plan.load(tmp_path), plan)
    assert not is_repeat(plan, change_plan(plan, cpu_threads=4))


def test_reproduction_has_the_threads_of_the_original(submissions: Submissions) -> None:
    evidence = copy_evidence()
    evidence.result["settings"]["cpu_threads"] = 3
    options = dict.fromkeys(("meter", "system", "corpus", "weights", "head"))
    bundle = submissions.add(evidence)
    assert make_reproduction_request(bundle, None, node=0, **options).cpu_threads == 3


def test_jobs_of_a_sweep_have_their_threads() -> None:
    def print_script(threads: str) -> str:
        arguments = ["sweep", "resnet50-train", "--cpu-threads", threads, "--slurm"]
        return CliRunner().invoke(main, arguments).output

    varied = print_script("8,16")
    assert "threads=(" in varied and '"axes": ["cpu-threads"]' in varied
    assert varied.count("--cpu-threads") == varied.count('--cpu-threads "${threads[i]}"') == 1
    fixed = print_script("8")
    assert fixed.count("--cpu-threads") == fixed.count(" --cpu-threads 8 ") == 1


def test_no_threads_are_refused() -> None:
    for command, value in (("run", "0"), ("sweep", "0,4")):
        result = CliRunner().invoke(main, [command, "resnet50-train", "--cpu-threads", value])
        assert result.exit_code == 2 and "--cpu-threads" in result.output
