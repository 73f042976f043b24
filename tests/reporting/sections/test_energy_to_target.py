"""The table of trainings to a target, against the figures of its runs."""

from dataclasses import replace
from pathlib import Path

import pytest
from conftest import Submissions, copy_evidence
from support.bundles import rederive

from checker.engine import judge
from reporting.results_model import ResultRow, build_submitted_row
from reporting.run_record import summarize_bundle
from reporting.sections.energy_to_target import build_energy_to_target_table
from rules.bundle import Bundle
from rules.testing.frames import EvidenceFrames
from rules.testing.target import TARGET, WORKLOAD, train_to_target


def make_row(submissions: Submissions, evidence: EvidenceFrames) -> ResultRow:
    rederive(evidence)
    path = submissions.add(evidence)
    return build_submitted_row(summarize_bundle(Bundle(path, (), evidence.evidence())), judge(path))


def link(path: Path) -> str:
    return path.name


def test_a_run_to_a_target_has_a_row_with_intervals(submissions: Submissions) -> None:
    evidence = copy_evidence()
    train_to_target(evidence)
    row = make_row(submissions, evidence)
    rows = [row, replace(row, cap_w=500.0)]
    table = build_energy_to_target_table(WORKLOAD, rows, link, "target", "energy to accuracy")
    assert table is not None
    lower, cells = table.rows
    assert (lower["cap_w"], cells["cap_w"]) == (500, 700)
    steps = sorted(t["steps"] for e in evidence.result["epochs"][1:] for t in e["trainings"])
    assert (cells["target_percent"], cells["trainings"]) == (100 * TARGET.accuracy, 20)
    median = (steps[9] + steps[10]) / 2
    shown = [cells[key] for key in ("min_steps", "steps", "max_steps")]
    assert shown == [steps[0], median, steps[-1]]
    assert row.joules_per_item is not None
    assert cells["target_j"] == pytest.approx(row.joules_per_item.value)
    # Each of the two accelerators trains models of its own.
    assert cells["target_s"] == pytest.approx(1 / row.items_per_s_per_accelerator.value)
    assert cells["edp_js"] == pytest.approx(cells["target_j"] * cells["target_s"])
    for key in ("target_s", "target_j", "edp_js"):
        assert cells[f"{key}_low"] < cells[key] < cells[f"{key}_high"]
        assert cells[f"{key}_n"] == 10
    assert row.mfu is None


def test_without_such_runs_there_is_no_table(submissions: Submissions) -> None:
    row = make_row(submissions, copy_evidence())
    assert build_energy_to_target_table(WORKLOAD, [row], link, "target", "energy") is None
