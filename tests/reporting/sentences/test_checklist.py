"""What the page leaves to a reviewer, line by line from the runs."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from conftest import PRINCIPAL, Submissions, copy_evidence
from support.bundles import make_other_run, rederive

from reporting.collect import collect
from reporting.page_model import PageModel, build_page_model
from reporting.sentences.checklist import MAX_NAMES, Task, build_checklist
from rules.testing.frames import EvidenceFrames


def read_tasks(page: PageModel) -> dict[str, Task]:
    return {task.title: task for task in page.checklist}


def build_page(submissions: Submissions, local: bool = False) -> PageModel:
    return build_page_model(collect([submissions.root], local=local), Path.as_posix)


def add_run(submissions: Submissions, number: int, **environment: Any) -> EvidenceFrames:
    evidence = copy_evidence()
    if number:
        make_other_run(evidence, number)
        rederive(evidence)
    evidence.result["run_id"] = f"20260101T00000{number}Z-run-{number}"
    evidence.environment |= environment
    submissions.add(evidence, evidence.result["run_id"])
    return evidence


def test_each_line_names_the_runs_that_it_is_about(submissions: Submissions) -> None:
    add_run(submissions, 0)
    add_run(submissions, 1, git={"commit": "1" * 40, "dirty": True})
    tasks = read_tasks(build_page(submissions))
    assert tasks["Findings"].text.startswith("1 run of 2 passed with warnings or notes")
    assert "M108 (warning) in 1" in tasks["Findings"].text
    assert tasks["Findings"].command == "bench-check explain M108"
    assert f"{PRINCIPAL} (2 runs)" in tasks["Keys"].text
    assert tasks["Reviews"].text.startswith("2 runs of 2 without a review")
    place = "/".join(tasks["Reviews"].runs[0].run.path.parts[-4:])
    assert f" {place} " in tasks["Reviews"].command and place.startswith("submissions/")
    assert "1 version of wattmark's code, from 2 commits; 1 with changes" in tasks["Code"].text
    assert tasks["Node meters"].text.startswith("2 runs of 2 without a node meter")
    assert place in tasks["Repeats"].command
    system = copy_evidence().system
    assert f"cooling {system['cooling']}, interconnect" in tasks["Statements"].text
    assert tasks["Check again"].command == "bench-check --no-cache submissions"
    assert not {"Waivers", "Outliers", "Own implementations"} & set(tasks)


def test_lines_that_no_run_needs_are_left_out(submissions: Submissions) -> None:
    add_run(submissions, 0)
    tasks = read_tasks(build_page(submissions))
    assert "Findings" not in tasks
    local = read_tasks(build_page(submissions, local=True))
    assert set(tasks) - set(local) == {"Keys", "Reviews", "Repeats"}
    assert local["Check again"].command == "bench-check --local --no-cache PATH"


def test_own_implementation_is_named(submissions: Submissions) -> None:
    evidence = copy_evidence()
    evidence.result["standing"] = "open"
    evidence.result["implementation"] |= {"name": "my_resnet50:build", "sha256": "5" * 64}
    submissions.add(evidence, "20260101T000000Z-open")
    tasks = read_tasks(build_page(submissions))
    assert tasks["Own implementations"].text.startswith("my_resnet50:build: the source")
    (row,) = tasks["Own implementations"].runs
    assert row.run.run_id == evidence.result["run_id"]


def test_run_far_from_its_setting_is_an_outlier(submissions: Submissions) -> None:
    add_run(submissions, 0)
    page = build_page(submissions)
    (row,) = [row for row in page.collected.rows if row.provenance]
    (epochs,) = [table for table in page.tables if table.id == "resnet50-train-epochs"]
    limit = float(str(epochs.rows[0]["board_limit_percent"]))
    for off, is_far in ((limit * 1.01, True), (-limit * 1.01, True), (limit * 0.99, False)):
        table = replace(epochs, rows=({**epochs.rows[0], "off_mean_percent": off},))
        titles = {t.title: t for t in build_checklist([row], [table], Path.as_posix, False)}
        assert ("Outliers" in titles) == is_far
        if is_far:
            assert titles["Outliers"].text.startswith("1 run of 1 whose energy is further")


def test_demo_runs_are_nobodys_task(submissions: Submissions) -> None:
    evidence = copy_evidence()
    evidence.result["standing"] = "demo"
    submissions.add(evidence, "20260101T000000Z-demo")
    assert build_page(submissions).checklist == ()


def test_line_names_some_runs_only(submissions: Submissions) -> None:
    add_run(submissions, 0)
    (row,) = [row for row in build_page(submissions).collected.rows if row.provenance]
    assert len(Task("Reviews", "", runs=[row] * 9).named_runs) == MAX_NAMES
