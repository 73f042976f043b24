"""The process that reads a node meter: deadlines, missed readings, margins, and a start that
fails."""

import csv
import itertools
import time
from dataclasses import replace
from pathlib import Path

import pytest
from support.harness.node_power import METER

from harness.errors import MeterError
from harness.meter_tables import parse_meters
from harness.power.node_reader import NODE_SAMPLES_PREFIX, NodeReaders
from harness.simulation.server import run_simulator
from rules.bundle_format.records import NODE_SAMPLE_COLUMNS

(DECLARED,) = parse_meters({"meters": [METER]})
SLOW = """
import os, time
from harness.power.node_meter import NodeMeter
from rules.bundle_format.records import FeedReading

class Slow(NodeMeter):
    needs_access = False

    @classmethod
    def open(cls, access):
        meter = cls()
        meter.calls = 0
        return meter

    def read(self):
        self.calls += 1
        if self.calls == 3:
            time.sleep(0.55)
            return [("psu-1", FeedReading(status="timeout"))]
        return [("psu-1", FeedReading(power_mw=self.calls))]
"""


def make_readers(directory: Path, *meters, node: str = "node0") -> NodeReaders:
    lines: list[str] = []
    readers = NodeReaders(
        meters or (DECLARED,), node, directory, directory / "meters.toml", lines.append
    )
    readers.lines = lines
    return readers


def read_rows(directory: Path, meter: str = "node-meter") -> list[dict[str, str]]:
    text = (directory / f"{NODE_SAMPLES_PREFIX}{meter}.csv").read_text()
    return list(csv.DictReader(text.splitlines()))


def test_rows_have_the_columns_of_the_bundle_and_the_times_of_the_request(tmp_path):
    start_s = time.monotonic()
    with run_simulator("h200"), make_readers(tmp_path).run() as readers:
        time.sleep(1.1)
        (sampling,) = readers.stop()
    duration_s = time.monotonic() - start_s
    rows = read_rows(tmp_path)
    assert tuple(rows[0]) == NODE_SAMPLE_COLUMNS
    assert sampling.ticks == len(rows) and 2 <= len(rows) <= 1 + duration_s / 0.2
    assert (sampling.meter, sampling.node, sampling.interval_ms) == ("node-meter", "node0", 200)
    for row in rows:
        scheduled_ns, sent_ns, read_ns = (
            int(row[name]) for name in ("scheduled_ns", "sent_ns", "read_ns")
        )
        assert scheduled_ns <= sent_ns <= read_ns
        assert (row["node"], row["meter"], row["feed"]) == ("node0", "node-meter", "psu-1")
    steps_ns = [
        int(b["scheduled_ns"]) - int(a["scheduled_ns"]) for a, b in itertools.pairwise(rows)
    ]
    assert all(step % 200_000_000 == 0 for step in steps_ns), "deadlines are absolute"


def test_a_slow_answer_costs_readings_that_are_counted_and_not_caught_up(tmp_path, monkeypatch):
    (tmp_path / "slow.py").write_text(SLOW)
    monkeypatch.setenv("WATTMARK_NODE_METERS", str(tmp_path))
    from harness.power import nodes

    monkeypatch.setattr(nodes, "__path__", [*nodes.__path__, str(tmp_path)])
    meter = replace(DECLARED, kind="slow", interval_ms=100)
    with make_readers(tmp_path, meter).run() as readers:
        time.sleep(1.5)
        (sampling,) = readers.stop()
    rows = read_rows(tmp_path)
    slots = [(int(row["scheduled_ns"]) - int(rows[0]["scheduled_ns"])) / 1e8 for row in rows]
    assert slots[3] - slots[2] >= 6
    assert sampling.missed == slots[-1] + 1 - len(rows) >= 5
    assert [row["status"] for row in rows[:4]] == ["ok", "ok", "timeout", "ok"]


def test_a_meter_that_cannot_be_opened_is_an_error_with_advice(tmp_path):
    meter = replace(DECLARED, kind="modbus")
    with (
        pytest.raises(MeterError, match=r"meters\.toml: no such file; write it"),
        make_readers(tmp_path, meter).run(),
    ):
        pass


@pytest.mark.parametrize(
    ("interval_ms", "margin_s"), [(100, 5.1), (1000, 6.0), (2500, 7.5), (10_000, 30.0)]
)
def test_the_margin_is_5_s_and_two_intervals_and_one_more(tmp_path, interval_ms, margin_s):
    readers = make_readers(tmp_path, replace(DECLARED, interval_ms=interval_ms))
    assert readers.margin_s == pytest.approx(margin_s)


def test_a_node_reads_its_own_feeds_only(tmp_path):
    readers = make_readers(tmp_path, node="node1")
    assert readers.margin_s == 0
    with readers.run():
        assert readers.stop() == ()
