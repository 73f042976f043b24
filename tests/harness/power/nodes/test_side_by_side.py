"""Several node meters beside the sampler of the accelerators, each against a real server of its
protocol. benchmarks/node_power/node_meters.py measures the same for longer, with its times."""

import shutil
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from support.meters.pdu import COMMUNITY, needs_snmpd
from support.meters.side_by_side import ServedMeter, measure, serve_meters

pytestmark = [
    pytest.mark.xdist_group("timing"),
    pytest.mark.skipif(
        not shutil.which("ipmitool"), reason="ipmitool is missing: apt-get install ipmitool"
    ),
    needs_snmpd,
]


@pytest.fixture
def meters(tmp_path: Path) -> Iterator[Mapping[str, ServedMeter]]:
    with serve_meters(tmp_path) as meters:
        yield meters


def test_meters_side_by_side_read_the_truth_every_second(meters, tmp_path):
    measurement = measure(tmp_path, meters, seconds=4.0)
    for kind, meter in meters.items():
        assert set(measurement.statuses(kind)) == {"ok"}, kind
        assert len(measurement.statuses(kind)) >= 3, kind
        assert measurement.largest_error_w(meter) <= meter.resolution_w / 2 + 1e-6, kind
    # Of 40: a busy machine may miss some.
    assert measurement.board_counts["ticks"] >= 20
    assert {row["status"] for row in measurement.board_rows} == {"ok"}


def test_faults_of_meters_end_in_their_statuses_and_leave_the_others_undisturbed(meters, tmp_path):
    def disturb() -> None:
        meters["snmp"].server.stop()
        meters["redfish"].server.stop()
        meters["ipmi"].server.set(active=False)
        meters["scpi"].server.instrument.replacement = "9.9E+37,2.3E+02,1E+00,0.98,NAN"
        meters["vxi11"].server.delay_s = 60.0

    measurement = measure(tmp_path, meters, seconds=6.0, disturb=disturb)
    meters["redfish"].server.start()
    faults = {
        "snmp": "timeout",
        "redfish": "refused",
        "ipmi": "absent",
        "scpi": "over-range",
        "vxi11": "timeout",
    }
    for kind, fault in faults.items():
        statuses = measurement.statuses(kind)
        first = statuses.index(fault)
        assert first >= 1 and set(statuses[:first]) == {"ok"}, kind
        assert set(statuses[first:]) == {fault}, kind
    assert set(measurement.statuses("modbus")) == {"ok"}
    assert {row["status"] for row in measurement.board_rows} == {"ok"}


def test_no_file_of_the_run_and_no_command_line_has_an_address_or_a_secret(meters, tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    (tmp_path / "meters.toml").rename(run / "meters.toml")
    command_lines: set[str] = set()
    stopped = threading.Event()

    def watch() -> None:
        while not stopped.wait(0.01):
            for path in Path("/proc").glob("[0-9]*/cmdline"):
                try:
                    command_lines.add(path.read_text().replace("\0", " "))
                except (OSError, UnicodeDecodeError):
                    continue

    watcher = threading.Thread(target=watch)
    watcher.start()
    measure(run, meters, seconds=3.0)
    stopped.set()
    watcher.join()
    readers = [line for line in command_lines if "node_reader" in line or "ipmitool" in line]
    assert any("0xdc" in line for line in readers) and len(readers) > len(meters)
    (run / "meters.toml").unlink()
    files = [path.read_text() for path in run.rglob("*") if path.is_file()]
    assert len(files) == 1 + len(meters)
    secrets = [COMMUNITY, *(meters[kind].server.password for kind in ("redfish", "ipmi"))]
    addresses = [f"{meter.entry['port']}" for meter in meters.values()]
    for text in (*readers, *files):
        assert not [secret for secret in secrets if secret in text]
    for line in readers:
        assert not [address for address in addresses if f" {address}" in line], line
