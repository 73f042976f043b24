"""The log of an observed job is read again (O106): logs of hostile bundles give a finding, within
bounded time and memory, and bundles before the reading was recorded stay as they were."""

import time
from typing import Any

import pytest
from conftest import Submissions

from checker.engine import judge
from rules.declarations.observation import LogReadingDeclaration
from rules.finding import Severity
from rules.power_logs.observed import join_texts, read_again
from rules.power_logs.records import PowerLogError
from rules.testing.observations import LOG_MAP, make_observation_frames

MOST_S = 20
"""A machine that does other work needs so long; without bounds these logs take minutes."""
LONG = 4000
KEYS = "".join(f"{10**18 + i},k{i},5\n" for i in range(9000))
REDFISH = '{"MetricValues":[{"MetricId":%s,"Timestamp":"2026-03-04T10:00:00Z","MetricValue":5}]}'


def name_case(value: object) -> str:
    return value if isinstance(value, str) and len(value) < 20 else ""


def describe(text: str, log_format: str) -> LogReadingDeclaration:
    log = {"name": "log", "lines": text.count("\n"), "format": log_format}
    return LogReadingDeclaration.from_json("/meter/reading", {"logs": [log]})


def test_bundle_that_records_no_reading_is_not_compared(submissions: Submissions) -> None:
    frames = make_observation_frames()
    del frames.observation["meter"]["reading"]
    frames.node_log = "a power log\n"
    verdict = judge(submissions.add_observation(frames))
    assert (verdict.status, [f.severity for f in verdict.findings]) == ("pass", [Severity.WARNING])
    assert "were not compared with the log" in verdict.findings[0].message


def test_finding_tells_the_reading_that_differs(submissions: Submissions) -> None:
    frames = make_observation_frames()
    frames.node_log = frames.node_log.replace(",psu2,3", ",psu2,2")
    (finding,) = judge(submissions.add_observation(frames)).findings
    assert (finding.rule, finding.file) == ("O106", "power.csv.gz")
    assert "of feed psu2 at 2026-01-01T00:00:0" in finding.found
    assert finding.expected.startswith("24") or finding.expected.startswith("23")


@pytest.mark.parametrize(
    ("text", "log_format", "options", "message"),
    [
        ("no log\n", "csv", {"map": LOG_MAP}, "no column 'power'"),
        ("no log\n", "csv", {}, "needs --map"),
        ("no log\n", "nonsense", {}, "unknown"),
        ("no log\n", "ptd", {"time_zone": "../../etc/passwd"}, "is no time zone"),
        ("no log\n", "ptd", {"time_zone": "+99:99"}, "is no time zone"),
        ("no log\n", "ptd", {"start": "0001-01-01T00:00:00+23:59"}, "between 1973 and 2191"),
        ("1\n", "dcgmi-dmon", {"every_s": 1e308}, "seconds between two readings"),
        ("#Entity POWER\n" + "G 5.0\n" * 99, "dcgmi-dmon", {"every_s": 1e7}, "ten years"),
        ("time,power\n", "csv", {"map": {"time": [[]], "power": {"unit": []}}}, "power.unit"),
        (
            "time,power\n",
            "csv",
            {"map": {**LOG_MAP, "time": {"column": "time", "format": "%H %H"}}},
            "found '%H %H'",
        ),
        ("time,outlet,power\n" + KEYS, "csv", {"map": LOG_MAP}, "more than 2000000 values, or"),
        (
            "Step,Node,ElapsedTime,EpochTime,Power\na/b,c,1,1772618400,5\na,b/c,1,1772618400,6\n",
            "slurm-profile",
            {},
            "one reading",
        ),
    ],
    ids=name_case,
)
def test_log_that_cannot_be_read_as_recorded_is_an_error(
    submissions: Submissions, text: str, log_format: str, options: dict[str, Any], message: str
) -> None:
    frames = make_observation_frames()
    frames.node_log = text
    log = {"name": "log", "lines": text.count("\n"), "format": log_format}
    frames.observation["meter"]["reading"] = {"logs": [log], **options}
    verdict = judge(submissions.add_observation(frames))
    assert verdict.rules_not_run == 0
    (finding,) = verdict.findings
    assert (finding.rule, finding.file) == ("O106", "node_log.gz")
    assert message in finding.found


@pytest.mark.parametrize(
    ("text", "log_format"),
    [
        ("[" * 10**6 + "\n", "redfish-telemetry"),
        ("[\n" + "{}\n" * 10**5, "redfish-telemetry"),
        ('"' + '\\"' * 10**5 + "\n", "redfish-telemetry"),
        (REDFISH % '["power"]' + "\n", "redfish-telemetry"),
        (f" 1.0,S0{',1' * (LONG // 2)}\n" * 1000, "perf-stat"),
        (f" IPMI timestamp:{' ' * LONG}\n" * 1000, "ipmitool-dcmi"),
        (f"Time,{' ' * LONG},Watts,\n" * 1000, "ptd"),
        (("[" * 60_000 + "\n") * 10, "jpwr"),
        (f"# GID|MetricsCount|CpuCount|Power [W]\n{('1' * 60_000 + chr(10)) * 5}", "likwid"),
        (
            '{"data":{"resultType":"matrix","result":['
            + ",".join(f'{{"metric":{{"a{i}":"b"}},"values":[]}}' for i in range(20_000))
            + "]}}\n",
            "prometheus",
        ),
    ],
    ids=name_case,
)
def test_hostile_logs_are_refused_in_bounded_time(text: str, log_format: str) -> None:
    begin_s = time.process_time()
    with pytest.raises(PowerLogError):
        read_again(text, describe(text, log_format))
    assert time.process_time() - begin_s < MOST_S


def test_several_logs_are_told_apart_by_their_lines() -> None:
    header, rows = "time,outlet,power\n", "".join(f"{10**18 + i * 10**9},a,5\n" for i in range(5))
    names, texts = ["a.csv", "b.csv"], [header + rows, header + rows.replace(",a,", ",b,")]
    logs = [
        {"name": name, "lines": text.count("\n"), "format": "csv"}
        for name, text in zip(names, texts, strict=True)
    ]
    reading = LogReadingDeclaration.from_json("", {"logs": logs, "map": LOG_MAP})
    node_log = join_texts(names, texts)
    assert read_again(node_log, reading).log.feeds == ["a", "b"]
    for altered in (node_log + "1\n", node_log.replace("b.csv", "c.csv"), node_log[:-20]):
        with pytest.raises(PowerLogError):
            read_again(altered, reading)
