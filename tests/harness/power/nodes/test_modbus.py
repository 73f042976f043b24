"""The Modbus meter against pymodbus's server (tests/support/meters/modbus_server.py)."""

import math
import socket
import struct
import threading
import time
from collections.abc import Iterator

import pytest
from support.meters.modbus_server import REGISTERS, ModbusServer, encode
from support.meters.ports import reserve_closed_port

from harness.power.feeds.feed import FeedError
from harness.power.node_meter import MeterAccess
from harness.power.nodes import open_node_meter
from harness.power.nodes.modbus import ModbusClient, ModbusMeter
from harness.power.source import MeterError
from rules.bundle_format.records import FeedReading

JANITZA = "janitza-umg"
READING = FeedReading(power_mw=1_234_500, energy_mj=67_800 * 3_600_000)


@pytest.fixture
def server() -> Iterator[ModbusServer]:
    server = ModbusServer({1: encode(JANITZA, 1234.5, 67_800), 2: encode(JANITZA, 500, 1000)})
    yield server
    server.stop()


@pytest.fixture(autouse=True)
def short_timeout(monkeypatch):
    monkeypatch.setattr(ModbusMeter, "blocking_timeout_s", 0.3)


def open_meter(port: int, model: str = JANITZA, **feeds: str):
    feeds = feeds or {"left": "1"}
    access = MeterAccess("meter", "modbus", feeds, "127.0.0.1", port, {"model": model})
    return open_node_meter(access)


@pytest.mark.parametrize("model", REGISTERS)
def test_the_registers_of_each_model_give_power_and_energy(model):
    server = ModbusServer({1: encode(model, 1234.5, 67_800)})
    try:
        assert open_meter(server.port, model).read() == [("left", READING)]
    finally:
        server.stop()


def test_each_feed_is_a_unit_of_its_own(server):
    meter = open_meter(server.port, left="1", right="2")
    (_, left), (_, right) = meter.read()
    assert (left.power_mw, right.power_mw) == (1_234_500, 500_000)
    server.registers[1] = encode(JANITZA, 2000, 67_801)
    assert [reading.power_mw for _, reading in meter.read()] == [2_000_000, 500_000]


def test_a_register_that_does_not_exist_is_absent(server):
    meter = open_meter(server.port)
    meter._registers = {**meter._registers, "energy": {"address": 9, "type": "f32", "unit": "Wh"}}
    assert meter.read() == [("left", FeedReading(status="absent"))], "exception 2"
    with pytest.raises(MeterError, match=r"it has no such register; check model in meters\.toml"):
        open_meter(server.port, "schneider-iem3000")


def test_a_value_that_is_no_number_is_absent_and_an_infinite_one_over_range(server):
    meter = open_meter(server.port)
    server.registers[1] = encode(JANITZA, math.nan, 1)
    assert meter.read() == [("left", FeedReading(status="absent"))]
    server.registers[1] = encode(JANITZA, math.inf, 1)
    assert meter.read() == [("left", FeedReading(status="over-range"))]


def test_a_timeout_is_a_status_and_the_next_reading_is_right(server):
    meter = open_meter(server.port)
    server.delay_s = 0.45
    assert meter.read() == [("left", FeedReading(status="timeout"))]
    assert meter.read() == [("left", READING)]


def test_an_answer_after_its_timeout_is_not_taken_for_the_next_one():
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        client, _ = listener.accept()
        with client, listener:
            requests = [client.recv(12), client.recv(12)]
            # Both answers arrive while the client waits for the second.
            for request, word in zip(requests, (1111, 2222), strict=True):
                client.sendall(request[:2] + struct.pack(">HHBBBH", 0, 5, 1, 3, 2, word))
            time.sleep(1)

    threading.Thread(target=serve, daemon=True).start()
    client = ModbusClient("127.0.0.1", listener.getsockname()[1], 0.3)
    with pytest.raises(FeedError) as caught:
        client.read_registers(1, 3, 0, 1)
    assert caught.value.status == "timeout"
    client._timeout_s = 60.0
    assert struct.unpack(">H", client.read_registers(1, 3, 0, 1)) == (2222,)
    client.close()


def test_a_server_that_is_killed_and_comes_back_is_read_again(server):
    meter = open_meter(server.port)
    server.stop()
    assert meter.read() == [("left", FeedReading(status="refused"))]
    server.__init__(server.registers, server.port)
    assert meter.read() == [("left", READING)]


def test_a_port_on_which_nothing_listens_is_told_without_the_address():
    with reserve_closed_port() as port, pytest.raises(MeterError) as caught:
        open_meter(port)
    assert "meter meter: it refuses the connection; check host and port" in str(caught.value)
    assert "127.0.0.1" not in str(caught.value)


def serve_bytes(*answers: bytes) -> int:
    """A server that answers each request of one client with these bytes."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        client, _ = listener.accept()
        with client, listener:
            for answer in answers:
                request = client.recv(260)
                client.sendall(request[:2] + answer)
            time.sleep(1)

    threading.Thread(target=serve, daemon=True).start()
    return listener.getsockname()[1]


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (struct.pack(">HHBBB", 0, 3, 1, 0x83, 4), "refused"),
        (struct.pack(">HHBBB", 0, 3, 1, 0x83, 11), "timeout"),
        (struct.pack(">HHBBB", 0, 3, 1, 4, 0), "malformed"),
        (struct.pack(">HHBBBH", 0, 5, 1, 3, 2, 7), "malformed"),
        (struct.pack(">HHBBB", 7, 3, 1, 3, 4), "malformed"),
        (struct.pack(">HHB", 0, 60_000, 1), "malformed"),
        (b"", "timeout"),
        (struct.pack(">HHBBB", 0, 7, 1, 3, 4) + b"\0", "timeout"),
    ],
    ids=["device-failure", "gateway", "function", "short", "protocol", "long", "tid-only", "torn"],
)
def test_an_answer_that_breaks_the_protocol_has_its_status(answer, status):
    client = ModbusClient("127.0.0.1", serve_bytes(answer), 0.2)
    with pytest.raises(FeedError) as caught:
        client.read_registers(1, 3, 0, 2)
    assert caught.value.status == status
    client.close()


@pytest.mark.parametrize(
    ("model", "unit", "says"),
    [
        ("umg", "1", "model = 'umg' is not one of janitza-umg, schneider-iem3000, carlo"),
        (JANITZA, "256", "'256' is no number of a unit; give 0 to 255"),
        (JANITZA, "one", "'one' is no number of a unit; give 0 to 255"),
    ],
)
def test_an_entry_with_a_mistake_says_what_is_expected(model, unit, says):
    with pytest.raises(MeterError) as caught:
        open_meter(1, model, left=unit)
    assert says in str(caught.value)
