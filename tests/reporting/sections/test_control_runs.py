"""Control runs on the page: they win nothing, and other runs state their power as a share of
theirs."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from conftest import Submissions
from support.bundles import make_evidence, make_other_run, rederive
from support.control_runs import make_control_run
from support.report.html import Element, read_tables
from support.report.result_rows import make_figure, make_run_row

from checker.cli import check
from checker.engine import judge, judge_all
from reporting.collect import collect
from reporting.page_model import build_page_model
from reporting.pareto import EfficiencyPoint, mark_points
from reporting.report_table import ReportTable
from reporting.results_model import ResultRow
from reporting.sections.best import build_best_table
from reporting.sections.compare import build_compare_table
from reporting.sections.control import add_control_shares
from reporting.sections.overview import build_workloads_table
from reporting.sections.planning import build_what_if_table
from reporting.sections.repeats import NO_REPEATS
from rules import bundle_evidence as bundle_module
from rules.finding import Severity
from rules.metrics.power.profile import PowerSpread
from rules.protocol import V1_0, V1_1
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import declare_cap
from rules.testing.node_power import add_node_power
from rules.workloads import workloads

RESNET = workloads()["resnet50-train"]


def make_control_row(
    median_w: float,
    *boards: str,
    size: str = "full",
    options: dict[str, str] | None = None,
    **fields: Any,
) -> ResultRow:
    row = make_run_row(600.0, *boards, workload="burn", standing="control", **fields)
    assert row.provenance is not None
    declaration: Any = SimpleNamespace(
        size=size,
        started_at=fields.get("system", ""),
        run_id=f"burn-{median_w:g}",
        settings=SimpleNamespace(options=options or {}),
    )
    spread = PowerSpread(0, 0, 0, 0, 0, median_w, 0, 0)
    run = replace(row.provenance.run, declaration=declaration, spread=spread)
    return replace(row, provenance=replace(row.provenance, run=run))


def share_of(run: ResultRow, *controls: ResultRow) -> tuple[str, float, bool] | None:
    control = add_control_shares([*controls, run])[-1].control
    return control and (control.run_id, round(control.share, 6), control.is_same_boards)


NUMBERS = itertools.count(1)
RUN = make_run_row(2500.0, "a", "b", mean_power_w=make_figure(630.0))


@pytest.mark.parametrize("workload", ["burn", "resnet50-train"])
def test_a_control_run_wins_and_ranks_nowhere(workload: str) -> None:
    """Not even if it claims to be of the workload that others are compared in."""
    fast = make_run_row(9000.0, "c", standing="control", workload=workload)
    rows = [make_run_row(1000.0, "a"), make_run_row(900.0, "b", batch_size=1), fast]
    assert not fast.may_win and "control run" in (fast.withheld or "")
    (winners,) = build_workloads_table(rows, NO_REPEATS).rows
    assert (winners["results"], winners["fastest_rate"]) == (2, 1000.0)
    what_if = build_what_if_table(rows, Path.as_posix)
    assert what_if is not None
    assert {row["standing"] for row in what_if.rows} == {"closed"}
    for table in (
        build_best_table(RESNET, rows, Path.as_posix, "best"),
        build_compare_table(RESNET, rows, Path.as_posix, "compare"),
    ):
        assert "9000" not in str(table)


def test_a_control_run_is_on_no_pareto_front() -> None:
    def make_point(standing: str, rate: float, may_win: bool) -> EfficiencyPoint:
        return EfficiencyPoint(standing, standing, True, may_win, 700.0, rate, rate / 700)

    row = make_control_row(690.0, "a")
    marks = mark_points(
        [make_point("closed", 1000.0, True), make_point("control", 9000.0, row.may_win)]
    )
    assert [mark.is_on_front for mark in marks] == [True, False]


def test_the_same_accelerators_go_before_others_of_their_kind() -> None:
    same, other = make_control_row(700.0, "b", "a"), make_control_row(690.0, "c", "d")
    assert share_of(RUN, other, same) == ("burn-700", 0.9, True)
    assert share_of(RUN, other) == ("burn-690", round(630 / 690, 6), False)


@pytest.mark.parametrize(
    "fields",
    [
        {"cap_w": 500.0},
        {"accelerator": "NVIDIA H100 80GB HBM3"},
        {"accelerator": "Simulated H200"},
        {"size": "smoke"},
        {"cap_enforced": False},
    ],
    ids=str,
)
def test_another_cap_or_board_or_size_gives_no_share(fields: dict[str, Any]) -> None:
    assert share_of(RUN, make_control_row(700.0, "a", "b", **fields)) is None


def test_the_default_precision_goes_before_others_and_then_the_latest_run() -> None:
    bf16 = make_control_row(690.0, "a", "b", system="2026-01-01")
    later = make_control_row(691.0, "a", "b", system="2026-01-02")
    fp8 = make_control_row(695.0, "a", "b", precision="fp8", system="2026-01-03")
    run_ids = [share_of(RUN, *order) for order in ((bf16, later, fp8), (fp8, later, bf16))]
    assert {share and share[0] for share in run_ids} == {"burn-691"}


def test_a_control_run_has_no_share_of_its_own() -> None:
    control = make_control_row(690.0, "a", "b", mean_power_w=make_figure(680.0))
    assert share_of(control, control) is None


def find_table(tables: list[ReportTable], id: str) -> ReportTable:
    return next(table for table in tables if table.id == id)


@pytest.fixture
def two_runs(submissions: Submissions) -> Submissions:
    """A training run and a control run on the same boards, days apart."""
    submissions.add(run_id="20260101T000000Z-training")
    control = make_control_run()
    make_other_run(control)
    rederive(control)
    submissions.add(control, "20260102T000000Z-burn")
    return submissions


def test_the_page_states_the_share_of_control(
    two_runs: Submissions, report: Callable[..., tuple[Element, str]]
) -> None:
    root, text = report(two_runs.root)
    tables = read_tables(root)
    (control,) = find_table(tables, "control").rows
    (run,) = find_table(tables, "resnet50-train-results").rows
    assert control["rate"].endswith(" TFLOP/s") and control["standing"] == "control"
    share = float(run["power_w"]) / float(control["median_w"])
    assert float(run["control_percent"]) == pytest.approx(100 * share)
    assert run["control_run"] == "20260102T000000Z-burn (same accelerators)"
    trace = find_table(tables, "resnet50-train-trace-1")
    assert {row["control_w"] for row in trace.rows} == {control["median_w"]}
    # Control runs have no section, and no row among the winners.
    assert not [table.id for table in tables if table.id.startswith("burn")]
    (winners,) = find_table(tables, "workloads").rows
    assert winners["workload"] == "resnet50-train"
    (system,) = find_table(tables, "systems-table").rows
    assert (system["closed"], system["control"], system["demo"]) == (1, 1, 0)
    assert "Control runs" in text and 'id="burn"' not in text


def test_a_page_without_control_runs_is_as_before(submissions: Submissions) -> None:
    submissions.add()
    page = build_page_model(collect([submissions.root]), Path.as_posix)
    assert page.find("control") is None
    results = find_table(page.tables, "resnet50-train-results")
    assert "control_percent" not in {column.key for column in results.columns}
    columns = page.find("systems-table").columns
    assert "control" not in {column.key for column in columns}


def judge_control(submissions: Submissions, evidence: EvidenceFrames) -> dict[str, Severity]:
    run_id = f"20260101T000000Z-run-{next(NUMBERS)}"
    findings = judge(submissions.add(evidence, run_id)).findings
    return {finding.rule: finding.severity for finding in findings}


def test_a_control_run_passes_the_check(submissions: Submissions) -> None:
    findings = judge_control(submissions, make_control_run())
    assert Severity.ERROR not in findings.values(), findings


def test_a_control_run_may_have_shorter_epochs(
    submissions: Submissions, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed, control = make_evidence(), make_control_run()
    for minimum_s, expected in ((10.0, False), (100.0, True)):
        protocol = replace(V1_0, min_epoch_s=110.0 - minimum_s, min_control_epoch_s=minimum_s)
        protocols = {p.version: replace(protocol, version=p.version) for p in (V1_0, V1_1)}
        monkeypatch.setattr(bundle_module, "PROTOCOLS", protocols)
        assert ("P103" in judge_control(submissions, control)) is expected
        assert ("P103" in judge_control(submissions, closed)) is not expected


def test_throughput_above_the_peak_is_found(submissions: Submissions) -> None:
    evidence = make_control_run()
    evidence.batches["items"] *= 3
    evidence.result["settings"]["batch_size"] *= 3
    rederive(evidence)
    assert judge_control(submissions, evidence)["T104"] == Severity.ERROR


@pytest.mark.parametrize("key", ["name", "sha256", "precision", "parameters"])
def test_an_own_implementation_is_no_control(submissions: Submissions, key: str) -> None:
    evidence = make_control_run()
    values = {"name": "mine:build", "sha256": "0" * 64, "precision": "fp16", "parameters": 4}
    evidence.result["implementation"][key] = values[key]
    rederive(evidence)
    assert "T107" in judge_control(submissions, evidence)


def test_real_boards_do_not_pass_as_a_rehearsal(submissions: Submissions) -> None:
    """A simulated board among real ones does not turn the rules for control runs off."""
    evidence = make_control_run()
    boards = evidence.system["nodes"][0]["accelerators"]
    boards.append({**boards[0], "uuid": "SIM-1", "name": "Simulated H200"})
    assert "P112" in judge_control(submissions, evidence)


def test_rules_across_bundles_do_not_compare_control_runs_with_workloads(
    two_runs: Submissions,
) -> None:
    findings = [f for v in judge_all([two_runs.root]).verdicts for f in v.findings]
    assert not [finding for finding in findings if finding.rule.startswith("X")], findings


def test_readings_of_a_workload_are_found_in_a_control_run(submissions: Submissions) -> None:
    """A control run is no place to hide copies."""
    submissions.add(run_id="20260101T000000Z-training")
    control = make_control_run()
    control.result.update(started_at="2026-02-01T00:00:00Z", ended_at="2026-02-01T00:06:00Z")
    submissions.add(control, "20260102T000000Z-burn")
    rules = {f.rule for v in judge_all([submissions.root]).verdicts for f in v.findings}
    assert "X102" in rules


def test_a_control_run_at_a_cap_is_no_measure_at_another(submissions: Submissions) -> None:
    submissions.add(run_id="20260101T000000Z-training")
    control = make_control_run()
    make_other_run(control)
    for column in ("power_mw", "power_avg_mw", "energy_mj"):
        control.samples[column] = (control.samples[column] * 0.55).round()
    declare_cap(control, 400.0)
    rederive(control)
    submissions.add(control, "20260102T000000Z-burn")
    rows = add_control_shares(collect([submissions.root]).rows)
    (row,) = (row for row in rows if row.standing == "closed")
    assert row.control is None


def test_the_share_of_the_nodes_is_that_of_their_meters(submissions: Submissions) -> None:
    run, control = make_evidence(), make_control_run()
    unmetered = make_other_run(make_control_run())
    make_other_run(control, 2)
    for evidence in (run, control):
        add_node_power(evidence)
    for evidence in (run, control, unmetered):
        rederive(evidence)
    submissions.add(unmetered, "20260102T000000Z-burn")
    submissions.add(run, "20260101T000000Z-training")
    submissions.add(control, "20260103T000000Z-burn")
    tables = build_page_model(collect([submissions.root]), Path.as_posix).tables
    (node,) = find_table(tables, "resnet50-train-nodes").rows
    (burned,) = [row for row in find_table(tables, "control").rows if row["node_median_w"]]
    share = float(str(node["node_mean_power_w"])) / float(str(burned["node_median_w"]))
    assert node["node_control_percent"] == pytest.approx(100 * share)


def make_simulated_control() -> EvidenceFrames:
    """A control run on simulated boards, with epochs that are too short for a real one."""
    evidence = make_control_run()
    evidence.result["sampling"]["meter"] = "simulated:h200"
    for board in evidence.system["nodes"][0]["accelerators"]:
        board.update(name="Simulated H200", vendor="simulated")
    return evidence


def test_simulated_control_runs_may_use_equal_boards_at_one_time(
    submissions: Submissions,
) -> None:
    """The simulator of every machine has boards with the same UUIDs."""
    first, second = make_simulated_control(), make_simulated_control()
    for column in ("power_mw", "power_avg_mw", "energy_mj"):
        second.samples[column] = (second.samples[column] * 0.999).round()
    rederive(second)
    submissions.add(first, "20260101T000000Z-burn-1")
    submissions.add(second, "20260101T000000Z-burn-2", system="other")
    rules = {f.rule for v in judge_all([submissions.root]).verdicts for f in v.findings}
    assert "X108" not in rules


def test_a_simulated_control_run_is_judged_as_a_demo(
    submissions: Submissions, monkeypatch: pytest.MonkeyPatch
) -> None:
    protocols = {p.version: replace(p, min_control_epoch_s=100.0) for p in (V1_0, V1_1)}
    monkeypatch.setattr(bundle_module, "PROTOCOLS", protocols)
    assert "P103" in judge_control(submissions, make_control_run())
    findings = judge_control(submissions, make_simulated_control())
    assert Severity.ERROR not in findings.values(), findings


def test_the_check_names_standing_and_signer(submissions: Submissions) -> None:
    submissions.add(make_control_run())
    output = CliRunner().invoke(check, [str(submissions.root)]).output
    assert "(control, signed by example@wattmark)" in output
