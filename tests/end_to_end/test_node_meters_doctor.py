"""`bench-submit doctor --meters` on a meter of each protocol, against real servers: what it shows,
and what an operator has to do after each fault."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.harness.node_power import write_system
from support.meters.modbus_server import ModbusServer
from support.meters.node_servers import HOST, NodeServers, declare_meters, serve_node
from support.meters.pdu import needs_snmpd

from harness.cli import main
from harness.meter_checks import examine_meters
from harness.simulation.server import start
from rules.testing.node_power import METER

pytestmark = [
    pytest.mark.xdist_group("node-meters"),
    pytest.mark.skipif(
        not shutil.which("ipmitool"), reason="ipmitool is missing: apt-get install ipmitool"
    ),
    needs_snmpd,
]


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[NodeServers]:
    simulator = start("h200", str(tmp_path / "socket"))
    try:
        with serve_node(tmp_path, str(tmp_path / "socket")) as servers:
            yield servers
    finally:
        simulator.terminate()
        simulator.wait()


def write_description(directory: Path) -> Path:
    """system.toml with the five meters, read often, so that the tests are short."""
    meters = [{**meter, "interval_ms": 600} for meter in declare_meters("2026-05-01")]
    return write_system(directory, *meters)


def test_doctor_shows_power_counter_rate_and_clock_of_each_meter(servers, tmp_path):
    servers.clock_ahead_s = 7.0
    checks = list(examine_meters(str(servers.access_file), write_description(tmp_path)))
    output = "\n".join(f"{check.name} {check.result} {check.advice}" for check in checks)
    for feed, counter in (
        (f"{METER}, feed A", "energy counter"),
        (f"{METER}, feed B", "energy counter"),
        ("modbus, feed inlet", "energy counter"),
        ("redfish, feed inlet", "energy counter"),
        ("ipmi, feed inlet", "no energy counter"),
        ("scpi, feed inlet", "no energy counter"),
    ):
        text = (
            rf"node meter {feed} \d+[.\d]* W, {counter}, 1\.\d readings per s, "
            r"answers in at most \d+ ms, [2-5] different values in 5 readings, "
            r"(no clock of its own|last stamp -?\d+\.\d\d s old by the clock of this node)"
        )
        assert re.search(text, output), (feed, output)
    advice = r"its clock is [5-8]\.\d s ahead of that of this node: synchronise both by NTP"
    assert len(re.findall(advice, output)) == 2, "both feeds of the PDU, and no other"


def test_doctor_says_what_to_do_after_each_fault(servers, tmp_path):
    (tmp_path / "snmp.secret").write_text("another community")
    servers.modbus.stop()
    servers.redfish.password = "changed at the service"
    servers.bmc_state["active"] = False
    servers.instrument.instrument.replacement = "9.9E+37,2.3E+02,1E+00,0.98,NAN"
    system = write_description(tmp_path)
    command = ["doctor", "--meters", str(servers.access_file), "--system", str(system)]
    result = CliRunner().invoke(main, command)
    servers.modbus = ModbusServer(servers.modbus.registers, servers.modbus.port)
    assert result.exit_code == 1
    output = " ".join(result.output.split())
    for word in (HOST, *servers.secrets, *map(str, servers.ports)):
        assert not re.search(rf"\b{re.escape(word)}\b", output)
    for text in (
        f"meter {METER}: it does not answer; check host, port, the community or the user",
        "meter modbus: it refuses the connection; check host and port",
        "meter redfish, feed inlet: it refuses the login; check user and password",
        "meter ipmi: it does not measure power at present; turn the measurement on",
        "scpi, feed inlet: over-range; the reading is outside the meter's range: set a larger",
    ):
        assert text in output
