"""Every kind of evidence gets its grade and its figures, from samples whose figures are known."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.audit_samples import (
    WRITERS,
    change_json,
    write_aiperf,
    write_aiperf_records,
    write_codecarbon,
    write_inference,
    write_inferencex,
    write_jpwr,
    write_srt_slurm,
    write_training,
    write_zeus_trace,
)

from checker.audit.audit import JudgedRow, audit, list_sources
from rules.audit.grades import Grade, divide, grade_items
from rules.audit.row import Basis

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Expected:
    grade: Grade
    items_grade: Grade | None
    energy_j: float | None
    items: float | None
    joules_per_item: float | None
    mean_power_w: float | None


EXPECTED = {
    "hpc-ai-perf-bench": Expected(Grade.CLAIMED, None, None, None, 0.3, 2400.0),
    "mlperf-inference": Expected(Grade.RECOMPUTED, Grade.RECOMPUTED, 30_000.0, 6000.0, 5.0, 500.0),
    "mlperf-training": Expected(Grade.RECOMPUTED, Grade.RECOMPUTED, 120e3, 640.0, 187.5, 2000.0),
    "inferencex": Expected(Grade.RECOMPUTED, Grade.CONSISTENT, 10_000.0, 2000.0, 5.0, 1000.0),
    "inferencex-ledger": Expected(Grade.CONSISTENT, Grade.CLAIMED, 40_000.0, 4000.0, 10.0, 4000.0),
    "aiperf": Expected(Grade.RECOMPUTED, Grade.CLAIMED, 8000.0, 1000.0, 8.0, 800.0),
    "srt-slurm": Expected(Grade.RECOMPUTED, Grade.CLAIMED, 6000.0, 500.0, 12.0, 600.0),
    "ml-energy": Expected(Grade.CLAIMED, None, None, None, 0.3, 1200.0),
    "zeus": Expected(Grade.CLAIMED, None, 1100.0, None, None, 550.0),
    "codecarbon": Expected(Grade.CLAIMED, None, 14_400.0, None, None, 1200.0),
    "jpwr": Expected(Grade.RECOMPUTED, None, 4000.0, None, None, 400.0),
    "ai-energy-score": Expected(Grade.CLAIMED, None, 44_460.0, None, None, None),
    "mlperf-tiny": Expected(Grade.CONSISTENT, Grade.CONSISTENT, 0.204, 204.0, 0.001, 0.0102),
    "energy-report": Expected(Grade.CONSISTENT, Grade.CONSISTENT, 3000.0, 6000.0, 0.5, 300.0),
}


def audit_one(path: Path) -> JudgedRow:
    result = audit([path])
    assert result.failures == ()
    (item,) = result.rows
    return item


def test_every_adapter_has_a_sample() -> None:
    of_other_tests = {"wattmark-bundle", "nvidia-smi"}
    assert {source.name for source in list_sources()} == WRITERS.keys() | of_other_tests
    assert EXPECTED.keys() == WRITERS.keys()


@pytest.mark.parametrize("source", WRITERS)
def test_sample_gets_its_grade_and_figures(source: str, tmp_path: Path) -> None:
    WRITERS[source](tmp_path)
    item = audit_one(tmp_path)
    row, expected = item.row, EXPECTED[source]
    per_item = divide(row)
    assert item.findings == ()
    assert (row.source, item.grade) == (source, expected.grade)
    assert grade_items(row) == expected.items_grade
    assert (row.energy_j and row.energy_j.value) == pytest.approx(expected.energy_j)
    assert (row.items and row.items.value) == pytest.approx(expected.items)
    assert (per_item and per_item.value) == pytest.approx(expected.joules_per_item)
    assert row.mean_power_w == pytest.approx(expected.mean_power_w)
    assert row.missing
    for check in row.checks:
        assert check.computed == pytest.approx(check.stated, rel=1e-9)


def test_recomputed_energy_has_an_interval(tmp_path: Path) -> None:
    for source in ("mlperf-inference", "mlperf-training", "aiperf", "srt-slurm"):
        WRITERS[source](tmp_path / source)
        energy = audit_one(tmp_path / source).row.energy_j
        assert energy is not None and energy.low is not None and energy.high is not None
        assert energy.low <= energy.value * (1 + 1e-12) and energy.value <= energy.high


def test_folder_of_several_sources_gives_all_rows(tmp_path: Path) -> None:
    for source, write in WRITERS.items():
        write(tmp_path / source)
    result = audit([tmp_path])
    assert {item.row.source for item in result.rows} == WRITERS.keys()
    assert result.failures == () and result.is_clean


def test_file_is_read_with_what_lies_beside_it(tmp_path: Path) -> None:
    write_aiperf(tmp_path)
    WRITERS["energy-report"](tmp_path)
    energy = audit_one(tmp_path / "profile_export_aiperf.json").row.energy_j
    assert energy is not None and energy.basis == Basis.COUNTER


def test_packed_files_are_read(tmp_path: Path) -> None:
    import gzip

    write_inference(tmp_path)
    for name in ("mlperf_log_detail.txt", "spl.txt"):
        packed = gzip.compress((tmp_path / name).read_bytes())
        (tmp_path / f"{name}.gz").write_bytes(packed)
        (tmp_path / name).unlink()
    item = audit_one(tmp_path)
    assert item.row.energy_j is not None and item.row.energy_j.value == pytest.approx(30_000.0)
    assert item.findings == () and item.row.hashes[0].file == "spl.txt.gz"


def test_ranging_session_is_no_result(tmp_path: Path) -> None:
    write_inference(tmp_path / "run_1")
    write_inference(tmp_path / "ranging")
    assert audit_one(tmp_path).path.name == "run_1"


def test_director_records_are_found_beside_the_run(tmp_path: Path) -> None:
    write_inference(tmp_path / "run_1")
    (tmp_path / "power").mkdir()
    shutil.move(tmp_path / "run_1" / "server.json", tmp_path / "power" / "server.json")
    (stated,) = audit_one(tmp_path / "run_1").row.hashes
    assert stated.stated == stated.computed


def test_items_of_an_old_log_come_from_the_stated_rate(tmp_path: Path) -> None:
    write_inference(tmp_path)
    log = tmp_path / "mlperf_log_detail.txt"
    text = log.read_text().replace("result_query_count", "result_unknown")
    text = text.replace("result_samples_per_second", "result_qps_with_loadgen_overhead")
    log.write_text(text)
    item = audit_one(tmp_path)
    assert item.row.items is not None and item.row.items.value == 6000
    assert item.row.items.basis == Basis.DERIVED
    assert (item.grade, grade_items(item.row)) == (Grade.RECOMPUTED, Grade.CLAIMED)


def test_run_stop_need_not_be_the_last_line_or_the_latest_time(tmp_path: Path) -> None:
    write_training(tmp_path)
    row = audit_one(tmp_path).row
    assert row.duration_s == 60.0 and row.items_per_s == 640 / 60
    # An evaluation after the end counts no samples of the run.
    log = tmp_path / "result_0.txt"
    late = log.read_text().replace(', "step_num": 10', "")
    log.write_text(late.replace("{}", '{"samples_count": 900}'))
    assert audit_one(tmp_path).row.items is None


def test_conversion_is_stated_and_not_applied(tmp_path: Path) -> None:
    write_training(tmp_path, nodes=1)
    row = audit_one(tmp_path).row
    assert row.energy_j is not None and row.energy_j.value == pytest.approx(60_000.0)
    assert any("by MLCommons' formula, with conversion_eff: 54000 J" in r for r in row.remarks)


def test_two_sides_of_one_supply_are_not_added(tmp_path: Path) -> None:
    write_training(tmp_path, nodes=1)
    power = tmp_path / "power" / "result_0"
    shutil.copy(power / "node_0.txt", power / "dc-node_0.txt")
    result = audit([tmp_path])
    energies_j = [item.row.energy_j and round(item.row.energy_j.value) for item in result.rows]
    assert energies_j == [60_000, 60_000]


def test_switch_has_a_row_of_its_own(tmp_path: Path) -> None:
    write_training(tmp_path, nodes=2)
    power = tmp_path / "power" / "result_0"
    shutil.move(power / "node_1.txt", power / "sw_0.txt")
    nodes, switch = audit([tmp_path]).rows
    assert nodes.row.items is not None and switch.row.items is None
    assert switch.row.energy_j is not None and switch.row.energy_j.value == pytest.approx(60_000)


def test_estimated_power_of_a_switch_is_a_claim(tmp_path: Path) -> None:
    write_training(tmp_path, nodes=1)
    entry = {"time_ms": 0, "key": "interconnect_power_est", "value": 500}
    log = tmp_path / "power" / "result_0" / "sw_0.txt"
    log.write_text(f":::MLLOG {json.dumps(entry)}\n", "utf-8")
    _, switch = audit([tmp_path]).rows
    assert (switch.grade, switch.findings) == (Grade.CLAIMED, ())
    assert switch.row.energy_j is not None and switch.row.energy_j.value == 30_000
    assert switch.row.mean_power_w == 500 and switch.row.duration_s == 60


def test_samples_without_a_window_have_the_energy_of_their_span(tmp_path: Path) -> None:
    write_inferencex(tmp_path)
    for name in ("agg_point.json", "power_validation.json"):
        (tmp_path / name).unlink()
    row = audit_one(tmp_path).row
    assert (row.source, row.items) == ("nvidia-smi", None)
    assert row.energy_j is not None and row.energy_j.value == pytest.approx(10_000.0)
    path = tmp_path / "gpu_metrics.csv"
    path.write_text(path.read_text().replace("500.00 W", "half", 1))
    (failure,) = audit([tmp_path]).failures
    assert "row 2: power is 'half' and no number" in failure.text


def test_point_without_samples_is_consistent(tmp_path: Path) -> None:
    write_inferencex(tmp_path)
    for name in ("gpu_metrics.csv", "power_validation.json"):
        (tmp_path / name).unlink()
    item = audit_one(tmp_path)
    assert (item.grade, item.row.boards) == (Grade.CONSISTENT, 2)
    assert item.row.energy_j is not None and item.row.energy_j.basis == Basis.STATED


def test_power_that_its_source_rejects_has_no_energy(tmp_path: Path) -> None:
    write_inferencex(tmp_path)
    values = {"power_valid": 0, "power_invalid_reasons": ["telemetry_file_missing"]}
    change_json(tmp_path / "agg_point.json", lambda point: point.update(values))
    item = audit_one(tmp_path)
    assert (item.grade, item.row.energy_j, item.row.items) == (Grade.REFUSED, None, None)
    assert [finding.found for finding in item.findings] == ["telemetry_file_missing"]


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"power_metric_schema_version": 1}, "power_metric_schema_version is 1"),
        ({"power_metric_schema_version": None}, "the point has no power metrics"),
        ({"power_valid": 0}, "power_valid is not 1"),
    ],
)
def test_point_without_power_of_all_boards_is_refused(
    values: dict[str, object], reason: str, tmp_path: Path
) -> None:
    write_inferencex(tmp_path)
    change_json(tmp_path / "agg_point.json", lambda point: point.update(values))
    item = audit_one(tmp_path)
    assert (item.grade, item.row.energy_j) == (Grade.REFUSED, None)
    assert item.row.invalid_reasons[0].startswith(reason)


def test_bundle_that_its_validation_rejects_is_refused(tmp_path: Path) -> None:
    write_inferencex(tmp_path)
    change_json(tmp_path / "power_validation.json", lambda record: record.update(power_valid=False))
    item = audit_one(tmp_path)
    assert (item.grade, item.row.energy_j, item.row.items) == (Grade.REFUSED, None, None)


def test_tokens_of_the_window_count(tmp_path: Path) -> None:
    write_inferencex(tmp_path)
    change_json(
        tmp_path / "power_validation.json",
        lambda record: record["benchmark_window"].update(total_output_tokens=2000),
    )
    item = audit_one(tmp_path)
    assert (item.grade, grade_items(item.row)) == (Grade.RECOMPUTED, Grade.CONSISTENT)
    assert item.row.items is not None and item.row.items.basis == Basis.STATED


def test_samples_of_amd_smi_are_read(tmp_path: Path) -> None:
    rows = "\n".join(f"{1_700_000_000 + s},{gpu},250" for s in range(5) for gpu in range(2))
    (tmp_path / "gpu_metrics.csv").write_text(f"timestamp,gpu,socket_power\n{rows}\n")
    row = audit_one(tmp_path).row
    assert row.boards == 2
    assert row.energy_j is not None and row.energy_j.value == pytest.approx(2000.0)


def test_records_of_requests_give_the_items(tmp_path: Path) -> None:
    write_aiperf_records(write_aiperf(tmp_path))
    item = audit_one(tmp_path)
    assert (item.grade, grade_items(item.row)) == (Grade.RECOMPUTED, Grade.RECOMPUTED)
    assert item.row.items is not None and item.row.items.value == 1000


def test_window_without_phases_is_that_of_the_export(tmp_path: Path) -> None:
    """Its times have no zone, and the samples are in unix time."""
    write_aiperf(tmp_path)
    (tmp_path / "phase_manifest.json").unlink()
    times = {"start_time": "2026-03-02T12:00:00.000", "end_time": "2026-03-02T12:00:10.000"}
    change_json(tmp_path / "profile_export_aiperf.json", lambda export: export.update(times))
    row = audit_one(tmp_path).row
    assert row.energy_j is not None and row.energy_j.value == pytest.approx(8000.0)
    assert {trace.shift_s for trace in row.traces} == {7200.0}
    times["end_time"] = times["start_time"]
    change_json(tmp_path / "profile_export_aiperf.json", lambda export: export.update(times))
    energy = audit_one(tmp_path).row.energy_j
    assert energy is not None and energy.basis == Basis.STATED


def test_energy_of_boards_stands_for_a_missing_total(tmp_path: Path) -> None:
    write_aiperf(tmp_path)
    (tmp_path / "gpu_telemetry_export.jsonl").unlink()

    def change(export: dict[str, Any]) -> None:
        del export["nvidia_total_gpu_energy"]
        for board in export["telemetry_data"]["endpoints"]["node:9400"]["gpus"].values():
            board["metrics"]["nvidia_energy_consumption"] = {"unit": "MJ", "avg": 0.004}

    change_json(tmp_path / "profile_export_aiperf.json", change)
    item = audit_one(tmp_path)
    assert item.grade == Grade.CLAIMED
    assert item.row.energy_j is not None and item.row.energy_j.value == pytest.approx(8000.0)


def test_result_of_a_window_is_found_beside_the_folder(tmp_path: Path) -> None:
    write_srt_slurm(tmp_path / "power")
    (tmp_path / "results").mkdir()
    shutil.move(tmp_path / "power" / "result.json", tmp_path / "results" / "result.json")
    row = audit_one(tmp_path).row
    assert row.items is not None and row.items.value == 500


def test_result_of_a_window_is_not_sought_elsewhere(tmp_path: Path) -> None:
    write_srt_slurm(tmp_path / "a" / "power")
    shutil.move(tmp_path / "a" / "power" / "result.json", tmp_path / "result.json")
    for path in ("../../result.json", str(tmp_path / "result.json")):
        change_json(
            tmp_path / "a" / "power" / "windows" / "window_0.json",
            lambda window, path=path: window.update(result_path=path),
        )
        row = audit_one(tmp_path).row
        assert row.items is None and "items" in row.missing


def test_srt_slurm_without_windows_has_the_energy_of_its_samples(tmp_path: Path) -> None:
    write_srt_slurm(tmp_path, with_window=False)
    item = audit_one(tmp_path)
    assert (item.grade, item.row.items) == (Grade.RECOMPUTED, None)
    assert item.row.energy_j is not None and item.row.energy_j.value == pytest.approx(12_000.0)


def test_only_the_last_of_cumulative_rows_counts(tmp_path: Path) -> None:
    write_codecarbon(tmp_path / "emissions.csv")
    row = audit_one(tmp_path).row
    assert row.duration_s == 12.0 and row.boards == 2
    assert row.energy_j is not None and row.energy_j.value == pytest.approx(14_400.0)


def test_table_of_power_alone_is_recomputed(tmp_path: Path) -> None:
    write_jpwr(tmp_path)
    (tmp_path / "energy.csv").unlink()
    item = audit_one(tmp_path)
    assert (item.grade, item.row.checks) == (Grade.RECOMPUTED, ())


def test_trace_of_caps_reports_the_cap_that_was_not_kept(tmp_path: Path) -> None:
    write_zeus_trace(tmp_path / "summary_power_a40.csv")
    first, second = audit([tmp_path]).rows
    assert [finding.rule for finding in first.findings] == ["F107"] and second.findings == ()
    assert first.grade == second.grade == Grade.CLAIMED
    assert first.row.board == "a40"


def test_bundle_of_our_own_is_recomputed() -> None:
    bundle = next((ROOT / "submissions" / "reference" / "h200").glob("20261121T173410Z-*"))
    item = audit_one(bundle)
    per_item = divide(item.row)
    assert (item.grade, grade_items(item.row)) == (Grade.RECOMPUTED, Grade.RECOMPUTED)
    assert per_item is not None and per_item.low is not None
    assert per_item.value == pytest.approx(
        item.row.energy_j.value / item.row.items.value  # type: ignore[union-attr]
    )


def test_bundle_of_our_own_with_altered_figures_is_contradicted(tmp_path: Path) -> None:
    bundle = next((ROOT / "submissions" / "reference" / "h200").glob("20261121T173410Z-*"))
    copy = tmp_path / bundle.name
    shutil.copytree(bundle, copy)

    def improve(result: dict[str, dict[str, dict[str, float]]]) -> None:
        result["headline"]["joules_per_item"]["mean"] *= 0.9

    change_json(copy / "result.json", improve)
    item = audit_one(copy)
    assert item.grade == Grade.CONTRADICTED
    assert {finding.rule for finding in item.findings} == {"F119"}
