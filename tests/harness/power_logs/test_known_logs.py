"""Power logs of MLPerf submissions: the figures that they give, and the problems in them."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli import main
from harness.power_logs.read import read_log
from harness.power_logs.summary import LogSummary, summarise
from rules.power_logs.read import LogRequest
from rules.power_logs.records import PowerLogError

DATA = Path(__file__).parent / "data"
PTD, TORN, TRAINING = (
    DATA / name for name in ("ptd_8xb200.txt.gz", "ptd_torn.txt", "training_node_0.txt.gz")
)
KEYS = {
    *("format", "samples", "start", "end", "mean_w", "energy_j", "longest_gap_s"),
    *("repeated_share", "problems"),
}


def summarise_file(path: Path, **options: str) -> LogSummary:
    return summarise(read_log(LogRequest(path, **options)))


def test_mean_of_a_ptdaemon_log_is_that_of_ptdaemon():
    summary = summarise_file(PTD)
    assert summary.format == "ptd" and summary.samples == 2991
    assert f"{summary.total.mean_w:.6f}" == "9653.483450"
    assert (summary.start, summary.end) == ("2025-07-28T08:09:12.507", "2025-07-28T08:59:02.506")
    # The sum of watts times step, computed from the file without this program.
    assert summary.total.energy_j == pytest.approx(28_870_685.372, abs=0.01)
    assert summary.longest_gap_s == 1.001
    assert summary.repeated_share == pytest.approx(60 / 2990)
    assert [problem.kind for problem in summary.problems] == ["naive-time"]


def test_channels_are_feeds_and_their_watts_add_up():
    log = read_log(LogRequest(PTD))
    assert log.feeds == ["Ch1", "Ch2", "Ch3"]
    assert log.series[0].columns["Ch2", "power_w"][0] == 956 and log.series[0].power_w[0] == 2884
    assert log.series[0].columns["Ch2", "voltage_v"][0] == 211.37


def test_torn_lines_are_reported_and_skipped():
    summary = summarise_file(TORN)
    torn = [problem for problem in summary.problems if problem.kind == "torn-line"]
    assert [problem.line for problem in torn] == [4, 11]
    # The other twelve are whole, two of them after a message of the daemon on the same line.
    assert summary.samples == 12
    assert summary.longest_gap_s == pytest.approx(1.999)


def test_training_log_states_current_and_conversion_and_stays_as_metered():
    summary = summarise_file(TRAINING)
    assert summary.format == "mlperf-training" and summary.samples == 211
    assert (summary.current, summary.conversion_efficiency) == ("ac", 0.94)
    assert summary.total.mean_w == pytest.approx(9690.364928909952)
    assert summary.total.energy_j == pytest.approx(2_142_822.0)
    assert summary.longest_gap_s == 2.0
    assert (summary.start, summary.end) == ("2025-04-24T17:01:45.000Z", "2025-04-24T17:05:26.000Z")


def test_window_selects_readings_by_their_instant():
    summary = summarise_file(
        PTD,
        time_zone="Europe/Berlin",
        begin="2025-07-28T06:14:05.414Z",
        end="2025-07-28T08:14:08+02:00",
    )
    assert summary.samples == 3 and summary.start == "2025-07-28T06:14:05.507Z"
    assert summarise_file(PTD, time_zone="UTC", begin="2025-07-28T08:59:00").samples == 3


def test_window_on_a_log_without_time_zone_is_refused():
    with pytest.raises(PowerLogError, match=r"no time zone; declare .*--time-zone"):
        summarise_file(PTD, begin="2025-07-28T08:14:05Z")


@pytest.mark.parametrize(
    ("bound", "message"),
    [
        ("2025-04-24 17:02:00", "no time zone; add Z"),
        ("yesterday", "no time; write it like"),
        ("0001-01-01T00:00:00+10:00", "not between 1973 and 2191"),
        ("2026-01-01T00:00:00Z", "the log has readings from 2025-04-24T17:01:45.000Z to"),
    ],
)
def test_bad_bounds_of_a_window_are_refused(bound, message):
    with pytest.raises(PowerLogError, match=message):
        summarise_file(TRAINING, begin=bound)


def test_json_has_the_documented_keys():
    result = CliRunner().invoke(main, ["power-log", str(TORN), "--json"])
    document = json.loads(result.stdout)
    assert result.exit_code == 0 and document.keys() >= KEYS
    assert document["samples"] == 12 and document["problems"][0]["line"] == 4
    assert document["problems"][0].keys() == {"kind", "line", "found", "advice"}


def test_text_names_line_and_advice_of_each_problem():
    result = CliRunner().invoke(main, ["power-log", str(TORN)])
    assert result.exit_code == 0
    assert "mean power      3131.166667 W" in result.output
    assert "line 4: torn-line: PF '0.98740007-28-2025" in result.output
    assert "the line is left out" in result.output
