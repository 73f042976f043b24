"""Runs beside which node meters are read: what enters the bundle, and that neither address nor
secret does."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from support.harness.node_power import METER, write_system
from support.harness.session_runs import read_evidence

from checker.engine import judge
from harness.processes import list_descendants

pytestmark = pytest.mark.xdist_group("session")
SIMULATED = ["resnet50-train", "--simulate", "h200", "--epoch-seconds", "1"]


def start_run(directory: Path, system: Path, *arguments: str, **environment: str):
    """Start `bench-submit run` on simulated boards, in a process of its own."""
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "harness.cli", "run", *SIMULATED),
            *("--system", str(system), "--out", str(directory / "out"), *arguments),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **environment},
    )


def finish(process) -> str:
    output, _ = process.communicate(timeout=240)
    assert process.returncode == 0, output
    return output


def find_bundle(directory: Path) -> Path:
    (manifest,) = (directory / "out").glob("*/MANIFEST.json")
    return manifest.parent


def test_a_run_with_a_node_meter_has_its_readings_beside_those_of_the_boards(tmp_path):
    output = finish(start_run(tmp_path, write_system(tmp_path, METER)))
    bundle = find_bundle(tmp_path)
    assert [f for f in judge(bundle, signed=False).findings if f.severity == "error"] == [], output
    evidence = read_evidence(bundle)
    rows = evidence.node_samples
    assert set(rows["status"]) == {"ok"} and set(rows["feed"]) == {"psu-1"}
    (sampling,) = evidence.result["node_sampling"]
    assert sampling["meter"] == "node-meter" and sampling["missed"] <= 2
    assert sampling["ticks"] == len(rows)
    assert evidence.system["meters"] == [METER]
    batches = evidence.batches
    margin_ns = 5_000_000_000
    assert rows["read_ns"].min() <= batches["start_ns"].min() - margin_ns
    assert rows["sent_ns"].max() >= batches["end_ns"].max() + margin_ns
    assert evidence.result["node"]["over_accelerators"]["mean"] > 1
    counter_j = np.ptp(rows["energy_mj"]) / 1e3
    integral_j = np.trapezoid(rows["power_mw"] / 1e3, rows["read_ns"] / 1e9)
    assert counter_j == pytest.approx(integral_j, rel=0.02)


def test_a_reader_that_is_killed_does_not_end_the_run(tmp_path):
    process = start_run(tmp_path, write_system(tmp_path, METER))
    deadline = time.monotonic() + 60
    readers: list[int] = []
    while not readers and time.monotonic() < deadline:
        time.sleep(0.2)
        readers = [
            pid
            for pid in list_descendants([process.pid])
            if b"node_reader" in Path(f"/proc/{pid}/cmdline").read_bytes()
        ]
    time.sleep(2)
    os.kill(readers[0], signal.SIGKILL)
    output, _ = process.communicate(timeout=240)
    assert "meter node-meter: the reader of meter node-meter ended by itself" in output
    assert "bundle: " in output, output
