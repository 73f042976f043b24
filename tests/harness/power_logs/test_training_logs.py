"""Variants of MLPerf training power logs, and damage in them."""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.power_logs.read import read_log
from harness.power_logs.summary import summarise
from rules.power_logs.read import LogRequest
from rules.power_logs.records import PowerLog, PowerLogError


def event(key: str, value: Any, time_ms: Any = 1_745_514_104_000, **metadata: Any) -> str:
    content = {"key": key, "value": value, "time_ms": time_ms, "metadata": metadata}
    return f":::MLLOG {json.dumps(content)}"


CONVERSION = event("conversion_eff", 0.96, measurement_type="DC")


def read_lines(tmp_path: Path, *lines: str) -> PowerLog:
    path = tmp_path / "node_0.txt"
    path.write_text("\n".join(lines) + "\n")
    return read_log(LogRequest(path))


def readings(count: int = 4, **metadata: Any) -> list[str]:
    return [
        event("power_reading", 1000.5 + i, 1_745_514_104_000 + 1000 * i, **metadata)
        for i in range(count)
    ]


def test_direct_current_and_conversion_are_stated(tmp_path):
    log = read_lines(tmp_path, CONVERSION, *readings())
    assert (log.current, log.conversion_efficiency) == ("dc", 0.96)
    assert log.series[0].power_w.tolist() == [1000.5, 1001.5, 1002.5, 1003.5]
    assert summarise(log).total.energy_j == 1001.5 + 1002.5 + 1003.5


@pytest.mark.parametrize(
    ("lines", "kind"),
    [
        ([], "conversion-unstated"),
        ([event("conversion_eff", 0.96)], "conversion-unstated"),
        ([event("conversion_eff", 96, measurement_type="AC")], "conversion-impossible"),
        ([CONVERSION, event("conversion_eff", 0.9, measurement_type="AC")], "conversion-unstated"),
    ],
)
def test_unclear_conversion_is_a_problem(tmp_path, lines, kind):
    log = read_lines(tmp_path, *lines, *readings())
    assert kind in [problem.kind for problem in log.problems.list_all()]
    assert log.conversion_efficiency is None or kind == "conversion-unstated"


def test_prefixes_text_numbers_and_other_events_are_read(tmp_path):
    lines = [f"0: {line}" for line in readings()]
    lines[1] = event("power_reading", "1500.25", "1745514105000.5")
    log = read_lines(tmp_path, "starting", event("run_start", None), CONVERSION, *lines)
    assert log.series[0].power_w[1] == 1500.25 and len(log) == 4
    assert not log.problems.list_all()


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (readings()[0][:60], "without a whole JSON object"),
        (":::MLLOG {]}", "no valid JSON"),
        (event("power_reading", None), "value None, which is no number"),
        (event("power_reading", True), "value True, which is no number"),
        (event("power_reading", "12 W"), "value '12 W', which is no number"),
        (event("power_reading", 5.0, 1_745_514_104), "time_ms"),
        (event("power_reading", 5.0, 9_999_999_999_999), "time_ms 9999999999999"),
        (event("power_reading", 5.0, None), "time_ms None"),
        ('"key": "power_reading", "value": 2', "a part of a power_reading"),
    ],
)
def test_torn_event_is_reported_and_skipped(tmp_path, line, found):
    log = read_lines(tmp_path, CONVERSION, *readings(), line)
    (problem,) = log.problems.list_all()
    assert (problem.kind, problem.line) == ("torn-line", 6) and found in problem.found


def test_hosts_are_feeds_with_times_of_their_own(tmp_path):
    lines = [*readings(4, host="node_0"), *readings(3, host="node_1")]
    log = read_lines(tmp_path, CONVERSION, *lines)
    assert log.feeds == ["node_0", "node_1"] and not log.problems.list_all()
    total = summarise(log).total
    # In the 2 s that both have readings of: 1001.5 and 1002.5 W, twice.
    assert (total.duration_s, total.energy_j) == (2.0, 2 * (1001.5 + 1002.5))


def test_log_without_power_readings_is_refused(tmp_path):
    with pytest.raises(PowerLogError, match="without power_reading lines"):
        read_lines(tmp_path, event("run_start", None), event("run_stop", None))
