"""Runs that the page keeps apart: those on several accelerators, and demos."""

from dataclasses import replace
from pathlib import Path

import pytest
from conftest import Submissions
from support.bundles import make_evidence
from support.report.altered_runs import make_altered_run
from support.report.html import Report, read_embedded, read_lines
from support.report.report_runs import convert_to_baseline, on_one
from support.report.result_rows import make_run_row

from reporting.results_model import name_submitted_line
from reporting.sections.cells import distinguish_names
from rules.metrics.figures_json import figures_from_json
from rules.metrics.imbalance import compute_imbalance
from rules.testing.frames import EvidenceFrames

PUBLISHED = Path(__file__).parents[2] / "submissions/published/mayr2026.json"


def test_line_of_a_run_names_its_locked_clock() -> None:
    row = make_run_row(100.0, "GPU-a", settings={"sm_clock_mhz": 1200})
    assert name_submitted_line(row) == "node · tuned bf16 · 1200 MHz"


def test_equal_names_are_told_apart_by_batch_options_age_and_number() -> None:
    row = make_run_row(100.0, "a", batch_size=8)
    assert row.provenance is not None
    older = replace(row, provenance=replace(row.provenance, newer="reference/h200/run"))
    rows = [replace(row, batch_size=4), row, older, row]
    assert distinguish_names(["n"] * 3 + ["m"], rows) == [
        *("n · batch 4", "n · batch 8", "n · batch 8 · older recipe", "m")
    ]
    assert distinguish_names(["n"] * 2, [row, row]) == ["n · batch 8", "n · batch 8 (2)"]


def demo() -> EvidenceFrames:
    evidence = make_altered_run(name="laptop")
    evidence.result["standing"] = "demo"
    evidence.result["sampling"]["meter"] = "simulated"
    return evidence


def figures(evidence: EvidenceFrames, *names: str) -> list[float]:
    return [evidence.result["headline"][name]["mean"] for name in names]


def add_all(submissions: Submissions, *runs: EvidenceFrames) -> None:
    for place, evidence in enumerate(runs):
        submissions.add(evidence, f"20260101T000000Z-run-{place}")


def test_several_accelerators_stand_beside_one_of_the_same_kind(
    submissions: Submissions, report: Report
) -> None:
    many = make_altered_run(name="many")
    one, other = (
        on_one(make_altered_run(rate=0.9, power=0.95, name="one")),
        on_one(convert_to_baseline(make_altered_run(rate=0.5, name="other"))),
    )
    add_all(submissions, many, one, other)
    page, _ = report(submissions.root)
    (row,) = read_lines(page, "resnet50-train-scaling")
    (rate, total, joules), (of_one, joules_one) = (
        figures(many, "items_per_s_per_accelerator", "items_per_s", "joules_per_item"),
        figures(one, "items_per_s_per_accelerator", "joules_per_item"),
    )
    apart = compute_imbalance(figures_from_json(many.result).epochs)
    assert apart is not None and row.text("line") == "many\u202f\u00d7\u202f2 \u00b7 tuned bf16"
    keys = (
        "items_per_s_per_accelerator",
        "on_one",
        "speed_up",
        "efficiency_percent",
        "energy_per_item_ratio",
    )
    expected = [rate, of_one, total / of_one, total / of_one / 2 * 100, joules / joules_one]
    assert [row[key] for key in keys] == pytest.approx(expected)
    assert [row[f"{key}_apart_percent"] for key in ("active", "power", "sm")] == pytest.approx(
        [100 * v for v in vars(apart).values()]
    )


def test_several_accelerators_are_compared_with_repeats_on_one_of_their_system(
    submissions: Submissions, report: Report
) -> None:
    many, first, second = (
        make_altered_run(),
        on_one(make_altered_run()),
        on_one(make_evidence(rate=0.98)),
    )
    for evidence in (many, first, second):
        evidence.system["name"] = "own"
    add_all(submissions, many, first, second, on_one(make_altered_run(rate=1.03, name="faster")))
    page, _ = report(submissions.root)
    (row,) = read_lines(page, "resnet50-train-scaling")
    rates = [figures(run, "items_per_s_per_accelerator")[0] for run in (first, second)]
    assert rates[0] != rates[1]
    assert row["on_one"] == pytest.approx(sum(rates) / 2)


def test_demo_on_several_accelerators_stands_apart(
    submissions: Submissions, report: Report
) -> None:
    many, one = demo(), on_one(demo(), "demo")
    add_all(submissions, make_altered_run(name="submitted"), many, one)
    page, _ = report(submissions.root)
    (submitted,), (apart,) = (
        read_lines(page, "resnet50-train-scaling"),
        read_lines(page, "resnet50-train-demo-scaling"),
    )
    assert [row["line"].split(" ")[0] for row in (submitted, apart)] == ["submitted", "laptop"]
    assert submitted["on_one"] is None, "a demo on one accelerator is nothing to compare with"
    titles = {t["id"]: t["title"] for t in read_embedded(page, "tables")}
    assert [
        "not compared" in titles[f"resnet50-train{kind}-scaling"] for kind in ("", "-demo")
    ] == [False, True]
    assert apart["speed_up"] == pytest.approx(
        figures(many, "items_per_s")[0] / figures(one, "items_per_s")[0]
    )


def test_simulated_work_has_no_share_of_the_peak(submissions: Submissions, report: Report) -> None:
    computed, simulated = demo(), demo()
    simulated.result["implementation"]["settings"]["simulated"] = True
    add_all(submissions, computed, simulated)
    page, _ = report(submissions.root)
    assert sorted(
        row["mfu_percent"] is not None for row in read_lines(page, "resnet50-train-demo-results")
    ) == [False, True]
    assert any("Simulated runs have no MFU" in note.text for note in page.find("p", class_="note"))


def test_demo_with_the_settings_of_a_paper_stands_beside_its_figure_without_a_ratio(
    submissions: Submissions, report: Report
) -> None:
    evidence = demo()
    evidence.result["implementation"]["variant"] = "mayr"
    submissions.add(evidence, run_id="run-demo")
    published = submissions.root / "published"
    published.mkdir()
    (published / PUBLISHED.name).write_bytes(PUBLISHED.read_bytes())
    page, _ = report(submissions.root)
    (row,) = read_lines(page, "resnet50-train-demo-like")
    (measured,) = figures(evidence, "items_per_s_per_accelerator")
    assert (row["printed"], row["ratio"]) == (2148.6, None)
    assert row["measured"] == pytest.approx(measured)


def test_demo_stands_apart_from_the_compared_table(
    submissions: Submissions, report: Report
) -> None:
    submissions.add()
    submissions.add(demo(), run_id="run-demo")
    page, _ = report(submissions.root)
    compared, apart = (read_lines(page, f"resnet50-train{kind}-results") for kind in ("", "-demo"))
    assert [[row["standing"] for row in table] for table in (compared, apart)] == [
        ["closed"],
        ["demo"],
    ]
    assert "laptop" not in [row["fastest"] for row in read_lines(page, "workloads")]
    assert all("laptop" not in row["result"] for row in read_lines(page, "what-if"))
