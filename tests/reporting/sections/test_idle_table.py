"""The table of idle power."""

from pathlib import Path

import pytest
from conftest import Submissions, copy_evidence
from support.bundles import make_other_run, rederive

from harness.run.plan import SIMULATED_WORK
from harness.run.result_lines import describe_results
from reporting.collect import collect
from reporting.page_model import build_page_model
from reporting.report_table import ReportTable
from rules.bundle_format.records import Json
from rules.testing.cases.node.idle_contradicts_evidence import record_idle

UNUSED: Json = {
    "node": "node0",
    "accelerator": "GPU-unused",
    "used": False,
    "bare_w": 70.0,
    "resident_w": 70.0,
    "mean_w": 71.5,
    "energy_j": 71.5 * 340,
}


def build_tables(submissions: Submissions) -> dict[str, ReportTable]:
    page = build_page_model(collect([submissions.root]), Path.as_posix)
    return {table.id: table for table in page.tables}


def test_runs_without_idle_power_have_no_table_of_it(submissions: Submissions) -> None:
    submissions.add()
    assert not [id for id in build_tables(submissions) if id.endswith("-idle")]


def test_smallest_idle_share_comes_first(submissions: Submissions) -> None:
    names = []
    for number in (0, 1):
        evidence = copy_evidence()
        if number:
            make_other_run(evidence, number)
            before_load = evidence.samples["read_ns"] < evidence.batches["start_ns"].min()
            evidence.samples.loc[before_load, ["power_mw", "power_avg_mw"]] -= 40_000.0
            rederive(evidence)
        evidence.result["run_id"] = f"20260101T000000Z-idle-{number}"
        record_idle(evidence)
        names.append(evidence.result["run_id"])
        submissions.add(evidence, names[-1])
    table = build_tables(submissions)["resnet50-train-idle"]
    shares = [float(str(row["idle_percent"])) for row in table.rows]
    assert shares == sorted(shares) and len(shares) == 2
    assert {str(row["bundle"]).rpartition("/")[2] for row in table.rows} == set(names)
    first = table.rows[0]
    assert float(str(first["resident_w"])) == pytest.approx(120, abs=45)
    assert (first["unused_boards"], first["busy_boards"]) == (0, 0)
    assert first["scope"] == "accelerators only"


def test_a_run_prints_idle_power_and_unused_boards_in_one_line() -> None:
    evidence = copy_evidence()
    record_idle(evidence)
    evidence.result["idle"].append(UNUSED)
    (line,) = [line for line in describe_results(evidence.result) if line.startswith("idle")]
    assert line.startswith("idle 120.2 W, with the model 119.9 W per accelerator (17.5 % of load)")
    assert line.endswith("; unused boards: 1, 72 W")
    evidence.result["idle"].append({**UNUSED, "accelerator": "GPU-busy", "mean_w": 350.0})
    (line,) = [line for line in describe_results(evidence.result) if line.startswith("idle")]
    assert line.endswith("; unused boards: 2, 422 W, 1 busy with other work")
    assert "before the first scored epoch" in line
    # A node of eight simulated boards draws nothing.
    evidence.result["sampling"]["meter"] = "simulated:h200"
    evidence.result["implementation"]["name"] = SIMULATED_WORK
    (line,) = [line for line in describe_results(evidence.result) if line.startswith("idle")]
    assert "unused" not in line
