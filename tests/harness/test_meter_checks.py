"""`doctor --meters`: what it shows of a meter, and what an operator has to do."""

import itertools
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from support.harness.node_power import METER, write_access, write_system
from support.meters.modbus_server import ModbusServer, encode
from support.meters.pdu import COMMUNITY, Pdu, needs_snmpd
from support.meters.ports import reserve_closed_port

from harness import meter_checks
from harness.cli import main
from harness.meter_checks import READINGS, examine_meters

POWER = "1.3.6.1.4.1.13742.6.5.4.3.1.4.1.8.5"
STAMP = "1.3.6.1.4.1.13742.6.5.4.3.1.5.1.8.5"


def run_doctor(*arguments: object):
    result = CliRunner().invoke(main, ["doctor", "--meters", *map(str, arguments)])
    assert "127.0.0.1" not in result.output and COMMUNITY not in result.output
    return result


@pytest.fixture
def server() -> Iterator[ModbusServer]:
    server = ModbusServer({1: encode("janitza-umg", 1234.5, 1000)})
    yield server
    server.stop()


def write_modbus(directory: Path, port: int, unit: int = 1) -> tuple[Path, Path]:
    """meters.toml and system.toml of a Modbus meter."""
    meter = {**METER, "kind": "modbus", "interval_ms": 100}
    access = write_access(
        directory,
        METER["id"],
        kind="modbus",
        host="127.0.0.1",
        port=port,
        model="janitza-umg",
        feeds={"psu-1": unit},
    )
    return access, write_system(directory, meter)


def test_a_meter_that_changes_shows_value_counter_rate_and_clock(tmp_path, server, monkeypatch):
    access, system = write_modbus(tmp_path, server.port)
    powers_w = iter(range(1000, 2000))

    class Changing(dict):
        def __getitem__(self, address):
            return encode("janitza-umg", next(powers_w), 1000)[address]

    server.registers[1] = Changing()
    (check,) = examine_meters(str(access), system)
    assert check.ok is True and check.name == "node meter node-meter, feed psu-1"
    assert check.result.endswith("no clock of its own") and "energy counter" in check.result
    assert "5 different values in 5 readings" in check.result and "readings per s" in check.result


def test_a_stuck_value_is_told(tmp_path, server):
    access, system = write_modbus(tmp_path, server.port)
    assert run_doctor(access, "--system", system).exit_code == 0
    (check,) = examine_meters(str(access), system)
    assert check.ok is None and check.result.startswith("1234.5 W, energy counter, ")
    assert check.advice.startswith("all 5 readings are equal: the meter may be stuck")


def test_without_a_description_all_meters_of_the_file_are_read(tmp_path, server, monkeypatch):
    access, _ = write_modbus(tmp_path, server.port)
    monkeypatch.setenv("WATTMARK_METERS", str(access))
    monkeypatch.setattr("harness.meter_checks.READINGS", 1)
    result = run_doctor()
    assert result.exit_code == 0 and "1234.5 W" in result.output


def test_a_meter_that_cannot_be_opened_says_what_to_check(tmp_path):
    with reserve_closed_port() as port:
        access, system = write_modbus(tmp_path, port)
        assert run_doctor(access, "--system", system).exit_code == 1
        (check,) = examine_meters(str(access), system)
    assert check.advice == "meter node-meter: it refuses the connection; check host and port"


def test_a_meter_that_fails_now_and_then_says_how_often(tmp_path, server, monkeypatch):
    monkeypatch.setattr("harness.power.nodes.modbus.ModbusMeter.blocking_timeout_s", 0.5)
    access, system = write_modbus(tmp_path, server.port)
    registers, reads = server.registers[1], itertools.count()

    class LateOnce(dict):
        def __getitem__(self, address):
            # Each reading reads two registers, the first when the meter is opened.
            if next(reads) == 6:
                server.delay_s = 0.8
            return registers[address]

    server.registers[1] = LateOnce()
    (check,) = examine_meters(str(access), system)
    assert check.ok is None and "of 5 readings failed: timeout; no answer in time" in check.advice


@needs_snmpd
@pytest.mark.parametrize(("shift_s", "side"), [(-7, "behind"), (7, "ahead of")])
def test_a_clock_that_is_off_by_7_s_is_told(tmp_path, monkeypatch, shift_s, side):
    monkeypatch.setenv("PDU_COMMUNITY", COMMUNITY)
    pdu = Pdu(tmp_path, {})
    access = write_access(
        tmp_path,
        METER["id"],
        kind="snmp",
        host="127.0.0.1",
        port=pdu.port,
        model="raritan-px",
        community_env="PDU_COMMUNITY",
        feeds={"psu-1": "1.8"},
    )
    system = write_system(tmp_path, {**METER, "kind": "snmp", "interval_ms": 100})
    set_s = time.time()
    pdu.set({POWER: ("gauge", 1200), STAMP: ("gauge", int(set_s) + shift_s)})
    try:
        (check,) = examine_meters(str(access), system)
    finally:
        pdu.stop()
    # The stamp stays, so it falls behind while the meter is read.
    read_after_s = time.time() - set_s
    assert f"s {side} that of this node: synchronise both by NTP" in check.advice
    difference_s = float(check.advice.partition("its clock is ")[2].split()[0])
    assert difference_s == pytest.approx(7, abs=1 + read_after_s)


@needs_snmpd
def test_an_absent_outlet_says_where_to_look(tmp_path, monkeypatch):
    monkeypatch.setenv("PDU_COMMUNITY", COMMUNITY)
    monkeypatch.setattr("harness.meter_checks.READINGS", 2)
    pdu = Pdu(tmp_path, {POWER: ("gauge", 1200)})
    access = write_access(
        tmp_path,
        "pdu-a",
        kind="snmp",
        host="127.0.0.1",
        port=pdu.port,
        model="raritan-px",
        community_env="PDU_COMMUNITY",
        feeds={"left": "1.8", "right": "1.9"},
    )
    try:
        left, right = examine_meters(str(access), None)
    finally:
        pdu.stop()
    assert left.ok is None and left.result.startswith("1200 W, no energy counter")
    assert (right.ok, right.result) == (False, "absent")
    assert right.advice.endswith("check feeds in meters.toml")


@pytest.mark.parametrize(("interval_s", "readings"), [(3.0, 5), (4.0, 4), (4.1, 3), (13.0, 1)])
def test_slow_meters_are_read_for_12_s(monkeypatch, interval_s, readings):
    slept_s, meter = [], SimpleNamespace(read=dict, close=lambda: None, warning="")
    clock = SimpleNamespace(monotonic=lambda: sum(slept_s), sleep=slept_s.append)
    clock.monotonic_ns = clock.time_ns = lambda: round(1e9 * sum(slept_s))
    monkeypatch.setattr(meter_checks, "time", clock)
    monkeypatch.setattr(meter_checks, "open_node_meter", lambda access: meter)
    read_s = [r.sent_ns / 1e9 for r in meter_checks.read_meter(None, interval_s, READINGS)]
    assert read_s == pytest.approx([interval_s * number for number in range(readings)])


def test_a_file_that_is_missing_and_one_without_meters_are_told(tmp_path):
    result = run_doctor(tmp_path / "none.toml")
    assert result.exit_code == 1 and "no such file" in " ".join(result.output.split())
    empty = tmp_path / "meters.toml"
    empty.touch(mode=0o600)
    assert "none is declared" in run_doctor(empty).output
    result = CliRunner().invoke(main, ["doctor", "--system", str(empty)])
    assert result.exit_code == 2 and "give it with --meters" in result.output
