"""Altered evidence of other programs gets the finding of its fault, and no other error."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.audit_samples import (
    START_S,
    change_json,
    write_ai_energy_score,
    write_aiperf,
    write_aiperf_records,
    write_codecarbon,
    write_inference,
    write_inferencex,
    write_jpwr,
    write_ml_energy,
    write_perf_bench,
    write_report,
    write_srt_slurm,
    write_tiny,
    write_training,
    write_zeus,
)

from checker.audit.audit import audit
from rules.audit.grades import Grade
from rules.checks.foreign.readings_missing import RULE as F109
from rules.finding import Severity
from rules.testing.cases.foreign import readings_missing
from rules.testing.rows import make_good_row

Tamper = Callable[[Path], None]


def replace_text(path: Path, old: str, new: str, count: int = -1) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, count))


def multiply(key: str, factor: float) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        document[key] *= factor

    return change


def scale_power_log(folder: Path) -> None:
    write_inference(folder)
    (folder / "spl.txt").write_text((folder / "spl.txt").read_text().replace("500.0", "450.0"))


def scale_power_log_without_records(folder: Path) -> None:
    scale_power_log(folder)
    (folder / "server.json").unlink()


def cut_power_log(folder: Path) -> None:
    write_inference(folder)
    (folder / "server.json").unlink()
    lines = (folder / "spl.txt").read_text().splitlines()
    (folder / "spl.txt").write_text("\n".join(lines[:60]) + "\n")


def overstate_queries(folder: Path) -> None:
    write_inference(folder)
    replace_text(folder / "mlperf_log_detail.txt", '"value": 6000', '"value": 12000')


def move_marks(folder: Path) -> None:
    write_training(folder)
    log = folder / "power" / "result_0" / "node_0.txt"
    stop = '"power_measurement_stop", "value": null, "time_ms": '
    replace_text(log, f"{stop}{1000 * (START_S + 64)}", f"{stop}{1000 * (START_S - 5)}")


def leave_readings_out(folder: Path) -> None:
    write_training(folder)
    log = folder / "power" / "result_0" / "node_1.txt"
    lines = log.read_text().splitlines()
    log.write_text("\n".join(lines[:20] + lines[30:]) + "\n")


def fail_readings(folder: Path) -> None:
    write_training(folder)
    log = folder / "power" / "result_0" / "node_1.txt"
    lines = log.read_text().splitlines()
    lines[30] = lines[30].replace("1000.0", "0")
    log.write_text("\n".join(lines) + "\n")


def alter_json(write: Callable[[Path], Path], name: str, change: Callable[[Any], Any]) -> Tamper:
    def tamper(folder: Path) -> None:
        write(folder)
        change_json(folder / name, change)

    return tamper


def alter_point(**values: object) -> Tamper:
    return alter_json(write_inferencex, "agg_point.json", lambda point: point.update(values))


def alter_validation(key: str, **values: object) -> Tamper:
    return alter_json(
        write_inferencex, "power_validation.json", lambda record: record[key].update(values)
    )


def alter_samples(folder: Path) -> None:
    write_inferencex(folder)
    replace_text(folder / "gpu_metrics.csv", "500.00 W", "540.00 W")


def overstate_aiperf(export: dict[str, Any]) -> None:
    for name in ("total_gpu_energy", "average_gpu_power", "energy_per_output_token"):
        export[f"nvidia_{name}"]["avg"] *= 1.04


def forget_a_board(folder: Path) -> None:
    write_srt_slurm(folder)
    path = folder / "samples.csv"
    lines = [line for line in path.read_text().splitlines() if ",node-a,1," not in line]
    path.write_text("\n".join(lines) + "\n")


def alter_configuration(**values: object) -> Tamper:
    return alter_json(
        lambda folder: write_ml_energy(folder / "chat.json"),
        "chat.json",
        lambda document: document["configurations"][0].update(values),
    )


def alter_report(**values: object) -> Tamper:
    return alter_json(
        lambda folder: write_report(folder / "report.json"),
        "report.json",
        lambda report: report.update(values),
    )


def alter_csv(write: Callable[[Path], Path], old: str, new: str) -> Tamper:
    def tamper(folder: Path) -> None:
        replace_text(write(folder / "table.csv"), old, new, 1)

    return tamper


def overstate_jpwr(folder: Path) -> None:
    write_jpwr(folder)
    (folder / "energy.csv").write_text(",0\ndev:0,0.2777\ndev:1,0.9\n")


def alter_tiny(folder: Path) -> None:
    write_tiny(folder)
    replace_text(folder / "results.txt", "104000.0 uJ", "96000.0 uJ")


def lose_records(folder: Path) -> None:
    write_aiperf(folder)
    write_aiperf_records(folder, requests=9)


CONTRADICTIONS: dict[str, tuple[Tamper, set[str]]] = {
    "readings lowered": (scale_power_log, {"F114", "F108"}),
    "readings lowered, records removed": (scale_power_log_without_records, {"F108"}),
    "power log cut": (cut_power_log, {"F102"}),
    "queries overstated": (overstate_queries, {"F105"}),
    "readings of zero": (fail_readings, {"F110"}),
    "rate of all boards": (alter_point(output_tput_per_gpu=200.0), {"F105"}),
    "stated energy": (alter_point(total_gpu_energy_j=9000.0), {"F101", "F104"}),
    "power of another board count": (alter_point(avg_total_gpu_power_w=1250.0), {"F104", "F116"}),
    "samples": (alter_samples, {"F101"}),
    "energy of one board": (alter_validation("per_gpu_energy_j", **{"1": 4000.0}), {"F101"}),
    "window moved beyond the samples": (
        alter_validation(
            "benchmark_window", start_time_unix=START_S + 3, end_time_unix=START_S + 13
        ),
        {"F102"},
    ),
    "energy with warm-up": (
        alter_json(write_aiperf, "profile_export_aiperf.json", overstate_aiperf),
        {"F101"},
    ),
    "tokens of the window": (
        alter_validation("benchmark_window", total_output_tokens=2400, completed=10),
        {"F105"},
    ),
    "records of requests lost": (lose_records, {"F105"}),
    "duration": (
        alter_json(write_srt_slurm, "windows/window_0.json", multiply("duration", 1.5)),
        {"F115"},
    ),
    "board without samples": (forget_a_board, {"F116"}),
    "energy per token lowered": (alter_configuration(energy_per_token_joules=0.2), {"F105"}),
    "power of eight boards as of two": (
        alter_configuration(
            avg_power_watts=4800.0, energy_per_token_joules=1.2, energy_per_request_joules=120.0
        ),
        {"F103"},
    ),
    "rate beyond the peak": (
        alter_configuration(
            output_throughput_tokens_per_sec=4e5,
            energy_per_token_joules=0.003,
            energy_per_request_joules=0.3,
        ),
        {"F106"},
    ),
    "power below idle": (
        alter_configuration(
            avg_power_watts=20.0, energy_per_token_joules=0.005, energy_per_request_joules=0.5
        ),
        {"F111"},
    ),
    "mean power of a report": (alter_report(average_power_w=250.0), {"F104"}),
    "peak of a report": (alter_report(peak_power_w=950.0), {"F103"}),
    "tokens of a report": (alter_report(total_tokens=12e3, throughput_tokens_per_s=1200), {"F105"}),
    "board not found by Zeus": (alter_csv(write_zeus, "500.0", "0.0"), {"F110"}),
    "millijoules of Zeus": (alter_csv(write_zeus, "600.0", "600000.0"), {"F103"}),
    "total of CodeCarbon": (alter_csv(write_codecarbon, "0.0044,", "0.0054,"), {"F108"}),
    "no boards found by CodeCarbon": (
        lambda folder: write_codecarbon(folder / "emissions.csv", 0.0) and None,
        {"F110"},
    ),
    "energies of jpwr": (overstate_jpwr, {"F101"}),
    "phases of AI Energy Score": (
        alter_json(write_ai_energy_score, "GPU_ENERGY_SUMMARY.json", multiply("decode_wh", 1.1)),
        {"F108"},
    ),
    "energy of a tiny window": (alter_tiny, {"F104", "F105"}),
    "rate above its maximum": (alter_csv(write_perf_bench, "8000.0", "9000.0"), {"F105"}),
    "power above the board": (alter_csv(write_perf_bench, "600.0", "900.0"), {"F103"}),
}


@pytest.mark.parametrize("fault", CONTRADICTIONS)
def test_fault_contradicts_the_row(fault: str, tmp_path: Path) -> None:
    tamper, expected = CONTRADICTIONS[fault]
    tamper(tmp_path)
    result = audit([tmp_path])
    assert result.failures == () and not result.is_clean
    errors = {f.rule for j in result.rows for f in j.findings if f.severity == Severity.ERROR}
    assert errors == expected
    assert Grade.CONTRADICTED in {item.grade for item in result.rows}


WARNINGS: dict[str, tuple[Tamper, set[str]]] = {
    "marks without readings": (move_marks, {"F113"}),
    "readings left out": (leave_readings_out, {"F109"}),
    "clock of another zone": (
        lambda folder: write_training(folder, shift_s=-7200) and None,
        {"F112"},
    ),
    "cancelled": (
        alter_json(
            write_aiperf,
            "profile_export_aiperf.json",
            lambda export: export.update(was_cancelled=True, error_summary=[{"count": 3}]),
        ),
        {"F117"},
    ),
    "power above the limit": (alter_csv(write_perf_bench, "600.0", "720.0"), {"F107"}),
}


@pytest.mark.parametrize("fault", WARNINGS)
def test_warning_leaves_the_grade(fault: str, tmp_path: Path) -> None:
    tamper, expected = WARNINGS[fault]
    tamper(tmp_path)
    result = audit([tmp_path])
    assert result.is_clean
    assert {f.rule for j in result.rows for f in j.findings} == expected


def test_failed_readings_are_counted() -> None:
    row = readings_missing.one_failed_reading_of_many(make_good_row())
    assert [v.found for v in F109.run(row)] == ["board 0: 1 reading of 0 W"]


def test_shifted_clock_gives_the_energy_of_the_window(tmp_path: Path) -> None:
    write_training(tmp_path, shift_s=-7200)
    (item,) = audit([tmp_path]).rows
    assert item.row.energy_j is not None and item.row.energy_j.value == pytest.approx(120_000.0)


def test_log_of_another_day_gives_no_energy(tmp_path: Path) -> None:
    write_inference(tmp_path / "inference")
    log = tmp_path / "inference" / "spl.txt"
    log.write_text(log.read_text().replace("-2026 ", "-2025 "))
    (item,) = audit([tmp_path / "inference"]).rows
    assert item.row.missing[:2] == ("readings in the window", "idle power")
    tmp_path /= "training"
    write_training(tmp_path, shift_s=-100_000)
    (item,) = audit([tmp_path]).rows
    assert item.row.energy_j is None and item.grade == Grade.CONTRADICTED
    assert {f.rule for f in item.findings if f.severity == Severity.ERROR} == {"F102"}
