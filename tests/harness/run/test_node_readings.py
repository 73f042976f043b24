"""Runs beside which node meters are read: what enters the bundle, and that neither address nor
secret does."""

import gzip
import math
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from support.harness.node_power import METER, write_access, write_system
from support.harness.session_runs import read_evidence
from support.kills import list_files, read_command_line
from support.meters.pdu import COMMUNITY, Pdu, needs_snmpd
from support.meters.ports import reserve_closed_port

from checker.engine import judge
from harness.power.node_reader import NODE_SAMPLES_PREFIX
from harness.processes import list_descendants

pytestmark = pytest.mark.xdist_group("node-readings")
SIMULATED = ["resnet50-train", "--simulate", "h200", "--epoch-seconds"]


def start_run(
    directory: Path, system: Path, *arguments: str, epoch_s: float = 0.5, **environment: str
):
    """Start `bench-submit run` on simulated boards, in a process of its own."""
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "harness.cli", "run", *SIMULATED, str(epoch_s)),
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
    output = finish(start_run(tmp_path, write_system(tmp_path, METER), epoch_s=1))
    bundle = find_bundle(tmp_path)
    assert [f for f in judge(bundle, signed=False).findings if f.severity == "error"] == [], output
    evidence = read_evidence(bundle)
    rows = evidence.node_samples
    assert set(rows["status"]) == {"ok"} and set(rows["feed"]) == {"psu-1"}
    (sampling,) = evidence.result["node_sampling"]
    assert sampling["meter"] == "node-meter"
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
    deadline = time.monotonic() + 240
    readers: list[int] = []
    while not readers and time.monotonic() < deadline:
        time.sleep(0.2)
        readers = [
            pid
            for pid in list_descendants([process.pid])
            if any(b"node_reader" in argument for argument in read_command_line(pid))
        ]
    time.sleep(2)
    os.kill(readers[0], signal.SIGKILL)
    output, _ = process.communicate(timeout=240)
    assert "meter node-meter: the reader of meter node-meter ended by itself" in output
    assert "pre-check: " in output, output


@needs_snmpd
def test_neither_address_nor_secret_leaves_the_reader_while_its_pdu_fails_and_returns(tmp_path):
    """Searches the output, the run directory, all command lines and the bundle. The agent is killed
    for three seconds of the run, once the reader has opened it."""
    host = "127.0.0.77"
    agent = tmp_path / "agent"
    agent.mkdir()
    index = "1.8"
    objects = {f"1.3.6.1.4.1.13742.6.5.4.3.1.4.{index}.5": ("gauge", 2345)}
    pdu = Pdu(agent, objects, host)
    access = write_access(
        tmp_path,
        METER["id"],
        kind="snmp",
        host=host,
        port=pdu.port,
        model="raritan-px",
        community_env="PDU_COMMUNITY",
        feeds={"psu-1": index},
    )
    system = write_system(tmp_path, {**METER, "kind": "snmp"})
    process = start_run(
        tmp_path, system, "--meters", str(access), PDU_COMMUNITY=COMMUNITY, WATTMARK_METERS=""
    )
    texts: set[str] = set()
    try:
        opened_s = math.inf
        changes = [(4.0, pdu.stop), (7.0, pdu.start)]
        while process.poll() is None:
            texts |= read_command_lines(process.pid) | read_files(tmp_path / "out")
            if list_files(tmp_path, f"out/.*/{NODE_SAMPLES_PREFIX}*"):
                opened_s = min(opened_s, time.monotonic())
            if changes and time.monotonic() - opened_s > changes[0][0]:
                changes.pop(0)[1]()
            time.sleep(0.2)
        output, _ = process.communicate(timeout=60)
    finally:
        pdu.stop()
        process.kill()
    evidence = read_evidence(find_bundle(tmp_path))
    texts |= read_files(tmp_path / "out") | {output}
    assert any("harness.power.node_reader" in text for text in texts), "command lines are searched"
    assert any("node_samples" in text or "scheduled_ns,sent_ns" in text for text in texts)
    for text in texts:
        assert host not in text and COMMUNITY not in text
    rows = evidence.node_samples
    assert set(rows["status"]) == {"ok", "timeout"} and set(rows["power_mw"].dropna()) == {2.345e6}
    assert rows["status"].iloc[-1] == "ok", "it is read again when it is back"
    sampling = evidence.result["sampling"]
    # The margin is for a busy machine. benchmarks/node_power/node_meters.py measures the share of
    # missed ticks on a quiet one.
    assert len(evidence.result["epochs"]) == 11 and sampling["missed"] < 0.1 * sampling["ticks"]
    assert evidence.result["node_sampling"][0]["ticks"] == len(rows)


def read_command_lines(pid: int) -> set[str]:
    """The command lines of a process and its descendants."""
    return {
        b" ".join(read_command_line(descendant)).decode(errors="replace")
        for descendant in list_descendants([pid])
    }


def read_files(directory: Path) -> set[str]:
    """The content of all files below a directory, unpacked."""
    texts = set()
    for path in list_files(directory, "**"):
        with suppress(OSError, EOFError):
            content = path.read_bytes()
            content = gzip.decompress(content) if path.suffix == ".gz" else content
            texts.add(content.decode(errors="replace"))
    return texts


def test_a_meter_that_cannot_be_opened_ends_the_run_before_it_starts(tmp_path):
    system = write_system(tmp_path, {**METER, "kind": "modbus"})
    with reserve_closed_port() as port:
        access = write_access(
            tmp_path,
            METER["id"],
            kind="modbus",
            host="127.0.0.1",
            port=port,
            model="janitza-umg",
            feeds={"psu-1": "1"},
        )
        process = start_run(tmp_path, system, "--meters", str(access))
        output, _ = process.communicate(timeout=240)
    assert process.returncode == 3 and not (tmp_path / "out").exists()
    assert "meter node-meter: it refuses the connection; check host and port" in output
