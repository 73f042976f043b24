"""The report's tables and charts of sweeps over other settings than the cap."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import Submissions
from support.bundles import rederive
from support.report.chart_tables import validate_spec
from support.report.report_runs import add_sweep, convert_to_baseline, make_run_at_cap, on_one

from reporting.charts import build_charts
from reporting.collect import collect
from reporting.page_model import build_page_model
from reporting.report_table import ReportTable
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import use_other_boards
from rules.workloads import workloads

AXES = ("batch", "concurrency", "sm-clock", "cpu-threads", "gpus", "precision", "variant")


def make_run_with_batch(batch_size: int, rate: float) -> EvidenceFrames:
    evidence = make_run_at_cap(700, rate)
    evidence.batches["items"] = evidence.result["settings"]["batch_size"] = batch_size
    rederive(evidence)
    return evidence


def name_sweep(
    evidence: EvidenceFrames, place: int, runs: int, axis: str, **reference: object
) -> EvidenceFrames:
    label = {"id": "a-sweep", "place": place, "of": runs, "repeat": 1, "order": "random", "seed": 1}
    evidence.result["sweep"] = {**label, "axes": [axis], "reference": reference}
    return evidence


def build_tables(submissions: Submissions) -> dict[str, ReportTable]:
    """The tables of sweeps over other settings than the cap, by their ids."""
    page = build_page_model(collect([submissions.root]), Path.as_posix)
    assert [v.findings for v in page.collected.rejected] == []
    return {table.id: table for table in page.tables if table.id.endswith(AXES)}


def build_settings(submissions: Submissions) -> dict[str, ReportTable]:
    """The tables of best settings, by their ids."""
    page = build_page_model(collect([submissions.root]), Path.as_posix)
    return {table.id: table for table in page.tables if table.id.endswith("-settings")}


def test_runs_that_differ_in_the_batch_size_are_compared_with_the_smallest(
    submissions: Submissions,
) -> None:
    add_sweep(
        submissions,
        make_run_with_batch(1024, 0.9),
        make_run_with_batch(256, 0.9),
        make_run_with_batch(512, 1.0),
    )
    (table,) = build_tables(submissions).values()
    assert [row["value"] for row in table.rows] == [256, 512, 1024]
    assert [str(row["note"]).partition(",")[0] for row in table.rows] == [
        "reference",
        "None",
        "least energy",
    ]
    table_of_settings = build_settings(submissions)["resnet50-train-batch-settings"]
    assert "other_boards" not in {column.key for column in table_of_settings.columns}
    settings = table_of_settings.rows
    assert {row["setting"] for row in settings if row["metric"] != "EDS, k = 1.1"} == {"1024"}
    smallest, _, best = table.rows
    energy_ratio = best["joules_per_item"] / smallest["joules_per_item"]
    time_ratio = smallest["items_per_s"] / best["items_per_s"]
    assert best["energy_gain_percent"] == pytest.approx(100 * (1 - energy_ratio))
    assert best["extra_time_percent"] == pytest.approx(100 * (time_ratio - 1))
    assert best["gain_minus_extra_time_points"] == pytest.approx(
        100 * (2 - energy_ratio - time_ratio)
    )
    assert best["edp_gain_percent"] == pytest.approx(100 * (1 - energy_ratio * time_ratio))
    assert best["eds_gain_k2_percent"] == pytest.approx(50 * (2 - energy_ratio - time_ratio))
    assert smallest["energy_gain_percent"] == 0
    assert best["line"].endswith("700 W")
    charts = {chart.id: chart for chart in build_charts(table)}
    assert list(charts) == [
        f"resnet50-train-batch-{name}" for name in ("efficiency", "throughput", "energy", "time")
    ]
    # The batch sizes span a factor of four, which a linear axis shows.
    assert '"type": "log"' not in str(charts["resnet50-train-batch-efficiency"].spec)


def test_values_on_other_boards_than_the_reference_are_noted(submissions: Submissions) -> None:
    runs = [make_run_with_batch(256, 0.9), make_run_with_batch(512, 1.0)]
    use_other_boards(runs[1])
    add_sweep(submissions, *runs, make_run_with_batch(1024, 0.8))
    (table,) = build_tables(submissions).values()
    notes = [str(row["note"]) for row in table.rows]
    assert ["on other boards than the reference" in note for note in notes] == [False, True, False]
    settings = build_settings(submissions)["resnet50-train-batch-settings"]
    assert {(row["setting"], row["other_boards"]) for row in settings.rows} == {("1024", "512")}


def test_sweep_over_cpu_threads_has_its_values_in_a_facet(submissions: Submissions) -> None:
    runs = [make_run_at_cap(700, rate) for rate in (0.9, 1.0)]
    for place, (run, threads) in enumerate(zip(runs, (4, 8), strict=True), 1):
        name_sweep(run, place, 2, "cpu-threads").result["settings"]["cpu_threads"] = threads
    add_sweep(submissions, *runs)
    (table,) = build_tables(submissions).values()
    assert [(row["value"], row["cpu_threads"]) for row in table.rows] == [(4, 4), (8, 8)]


def test_sweep_declares_its_reference(submissions: Submissions) -> None:
    runs = [make_run_with_batch(256, 0.9), make_run_with_batch(1024, 0.9)]
    add_sweep(
        submissions,
        *(name_sweep(run, place, 2, "batch", batch=1024) for place, run in enumerate(runs, 1)),
    )
    (table,) = build_tables(submissions).values()
    assert [row["note"] for row in table.rows][1].startswith("reference")
    assert table.rows[1]["energy_gain_percent"] == 0 != table.rows[0]["energy_gain_percent"]


def test_reference_cap_that_a_sweep_declares_replaces_the_default_cap(
    submissions: Submissions,
) -> None:
    runs = [make_run_at_cap(500, 0.9), make_run_at_cap(700, 1.0)]
    for place, run in enumerate(runs, 1):
        name_sweep(run, place, 2, "cap", cap=500)
    add_sweep(submissions, *runs)
    page = build_page_model(collect([submissions.root]), Path.as_posix)
    (table,) = [table for table in page.tables if table.id == "resnet50-train-sweeps"]
    notes = [str(row["note"]).partition(",")[0] for row in table.rows]
    assert notes == ["reference", "None"]
    assert table.rows[0]["energy_gain_percent"] == 0 != table.rows[1]["energy_gain_percent"]


def test_variants_are_a_sweep_only_if_the_runs_say_so(submissions: Submissions) -> None:
    runs = [convert_to_baseline(make_run_at_cap(700, 0.5)), make_run_at_cap(700, 1.0)]
    add_sweep(submissions, *runs)
    assert not build_tables(submissions)
    shutil.rmtree(submissions.root / "example")
    for place, run in enumerate(runs, 1):
        name_sweep(run, place, 2, "precision", precision="bf16")
    add_sweep(submissions, *runs)
    (table,) = build_tables(submissions).values()
    assert [(row["value"], str(row["note"]).partition(",")[0]) for row in table.rows] == [
        ("bf16", "reference"),
        ("tf32", "None"),
    ]
    charts = build_charts(table)
    assert charts
    for chart in charts:
        validate_spec(chart.spec)
        assert "line" not in [layer["mark"]["type"] for layer in chart.spec["layer"]]


def test_variants_that_differ_in_precision_only_are_a_sweep_without_a_declaration(
    submissions: Submissions, monkeypatch: pytest.MonkeyPatch
) -> None:
    resnet50 = replace(workloads()["resnet50-train"], precision_variants=("tuned", "baseline"))
    monkeypatch.setitem(workloads(), "resnet50-train", resnet50)  # type: ignore[arg-type]
    other_variant = make_run_at_cap(700, 1.1)
    settings = {name: choice[0] for name, choice in resnet50.fixed["s2d"].items()}
    other_variant.result["implementation"].update(variant="s2d", settings=settings)
    runs = [convert_to_baseline(make_run_at_cap(700, 0.5)), make_run_at_cap(700, 1.0)]
    runs[0].result["standing"] = "open"
    add_sweep(submissions, *runs, other_variant)
    (table,) = build_tables(submissions).values()
    assert [(row["value"], row["n"], row["standing"]) for row in table.rows] == [
        ("bf16", 1, "closed"),
        ("tf32", 1, "open"),
    ]
    assert table.rows[0]["best"] and table.rows[0]["energy_gain_percent"] == 0
    name_sweep(runs[1], 1, 2, "precision", precision="bf16")
    shutil.rmtree(submissions.root / "example")
    add_sweep(submissions, *runs, other_variant)
    (table,) = build_tables(submissions).values()
    assert [row["value"] for row in table.rows] == ["bf16", "tf32"], "one run declares the sweep"
    del runs[1].result["sweep"]
    shutil.rmtree(submissions.root / "example")
    add_sweep(submissions, runs[0], make_run_with_batch(512, 1.0))
    assert not build_tables(submissions), "another setting differs too"


def test_declared_precisions_are_not_averaged_with_other_variants(submissions: Submissions) -> None:
    runs = [convert_to_baseline(make_run_at_cap(700, 0.5)), make_run_at_cap(700, 1.0)]
    for place, run in enumerate(runs, 1):
        name_sweep(run, place, 2, "precision", precision="bf16")
    other_variant = make_run_at_cap(700, 1.1)
    other_variant.result["implementation"]["variant"] = "s2d"
    other_variant.result["implementation"]["settings"] |= {
        name: choice[0] for name, choice in workloads()["resnet50-train"].fixed["s2d"].items()
    }
    add_sweep(submissions, *runs, other_variant)
    (table,) = build_tables(submissions).values()
    assert [(row["value"], row["n"]) for row in table.rows] == [("bf16", 1), ("tf32", 1)]


def test_a_precision_of_two_recipes_has_the_runs_of_the_newest(submissions: Submissions) -> None:
    runs = [convert_to_baseline(make_run_at_cap(700, 0.5)), make_run_at_cap(700, 1.0)]
    runs.append(make_run_at_cap(700, 1.2))
    for place, run in enumerate(runs, 1):
        name_sweep(run, place, 3, "precision", precision="bf16")
    *_, newest = runs
    # A second later than the others.
    newest.result["started_at"] = newest.result["started_at"].replace(":00Z", ":01Z")
    assert newest.result["started_at"] > runs[1].result["started_at"]
    newest.result["implementation"]["settings"]["group_norm"] = "by channel"
    add_sweep(submissions, *runs)
    (table,) = build_tables(submissions).values()
    assert [(row["value"], row["n"]) for row in table.rows] == [("bf16", 1), ("tf32", 1)]
    assert str(table.rows[0]["bundle"]).endswith("-run-2")
    del newest.result["implementation"]["settings"]["group_norm"]
    shutil.rmtree(submissions.root / "example")
    add_sweep(submissions, *runs)
    (table,) = build_tables(submissions).values()
    assert [(row["value"], row["n"]) for row in table.rows] == [("bf16", 2), ("tf32", 1)]


def test_runs_that_differ_in_batch_size_and_cap_are_a_sweep_at_each_cap(
    submissions: Submissions,
) -> None:
    runs = [make_run_with_batch(size, rate) for size, rate in ((512, 0.9), (1024, 1.0))]
    other_cap = make_run_at_cap(500, 0.8)
    add_sweep(submissions, *runs, other_cap)
    (table,) = build_tables(submissions).values()
    assert [row["value"] for row in table.rows] == [512, 1024]


def test_product_of_batch_size_and_accelerators_is_a_sweep_over_each(
    submissions: Submissions,
) -> None:
    runs = [make_run_with_batch(size, 1.0) for size in (512, 1024)]
    runs += [on_one(make_run_with_batch(size, 1.0)) for size in (512, 1024)]
    for place, run in enumerate(runs, 1):
        name_sweep(run, place, 4, "gpus", gpus=1)
        run.result["sweep"].update(axes=["batch", "gpus"])
    add_sweep(submissions, *runs)
    tables = build_tables(submissions)
    values = [row["value"] for row in tables["resnet50-train-gpus"].rows]
    assert values == [1, 2, 1, 2], "runs of two batch sizes are not averaged"
    assert [row["value"] for row in tables["resnet50-train-batch"].rows] == [512, 1024, 512, 1024]


def test_settings_of_several_boards_are_compared_on_the_same_boards(
    submissions: Submissions,
) -> None:
    """Batch 1024 is 2 % faster, and ran on the slower one of two boards only."""
    fast = [on_one(make_run_with_batch(512, rate)) for rate in (1.0, 1.001, 0.999, 1.0)]
    slow = [on_one(make_run_with_batch(*run)) for run in ((512, 0.95), (1024, 0.95 * 1.02 / 2))]
    for run in slow:
        use_other_boards(run)
    add_sweep(submissions, *fast, *slow)
    page = build_page_model(collect([submissions.root]), Path.as_posix)
    assert [v.findings for v in page.collected.rejected] == []
    tables = {table.id: table for table in page.tables}
    row_512, row_1024 = tables["resnet50-train-batch"].rows
    assert row_512["joules_per_item"] < row_1024["joules_per_item"], "means over all boards"
    assert row_1024["best"] and "least energy on the same boards" in row_1024["note"]
    assert not row_512["best"] and row_512["note"] == "reference"
    anchor, other = tables["resnet50-train-batch-boards"].rows
    assert (anchor["value"], anchor["runs"], anchor["boards_n"]) == ("512", 5, 2)
    assert anchor["note"] == "compared with this setting"
    assert anchor["joules_per_item_change_percent"] is None
    assert (other["value"], other["runs"], other["boards_n"]) == ("1024", 1, 1)
    for key in ("items_per_s_per_accelerator", "joules_per_item"):
        means = [run.result["headline"][key]["mean"] for run in slow]
        percent = 100 * (means[1] / means[0] - 1)
        assert other[f"{key}_change_percent"] == pytest.approx(percent)
    assert other["joules_per_item_change_percent_high"] < 0 and other["note"] is None
    assert "batch size 1024 needs the least energy per image of 2 values" in str(page.sentences)


def test_sweep_on_one_board_has_no_table_of_the_same_boards(submissions: Submissions) -> None:
    runs = [on_one(make_run_with_batch(512, rate)) for rate in (1.0, 1.001, 0.999, 1.0)]
    add_sweep(submissions, *runs, on_one(make_run_with_batch(1024, 1.1)))
    page = build_page_model(collect([submissions.root]), Path.as_posix)
    assert not [table.id for table in page.tables if table.id.endswith("-batch-boards")]


def test_caps_of_several_boards_are_compared_on_the_same_boards(submissions: Submissions) -> None:
    """The default cap ran on both boards, each of the two other caps on one of them."""
    first = [on_one(make_run_at_cap(700, rate)) for rate in (1.0, 1.001, 0.999, 1.0)]
    first.append(on_one(make_run_at_cap(500, 0.9)))
    second = [on_one(make_run_at_cap(cap_w, rate)) for cap_w, rate in ((700, 0.96), (400, 0.72))]
    for run in second:
        use_other_boards(run)
    add_sweep(submissions, *first, *second)
    page = build_page_model(collect([submissions.root]), Path.as_posix)
    assert [v.findings for v in page.collected.rejected] == []
    (table,) = (table for table in page.tables if table.id == "resnet50-train-cap-boards")
    changes = {
        row["value"]: row["items_per_s_per_accelerator_change_percent"] for row in table.rows
    }
    assert changes["700 W"] is None
    assert changes["500 W"] == pytest.approx(-10, abs=0.5)
    assert changes["400 W"] == pytest.approx(-25, abs=0.5)
