"""The Modbus meter against pymodbus's server (tests/support/meters/modbus_server.py)."""

import math
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.meters.modbus_server import REGISTERS, ModbusServer, encode
from support.meters.ports import reserve_closed_port

from harness.errors import MeterError
from harness.power.feeds.feed import FeedError
from harness.power.node_meter import MeterAccess
from harness.power.nodes import open_node_meter
from harness.power.nodes.modbus import ModbusClient, ModbusMeter, read_maps
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
        meter = open_meter(server.port, model)
        assert meter.read() == [("left", READING)]
        # Fed back to the grid; as a float, a little less.
        server.registers[1] = encode(model, -0.7, 67_800)
        assert meter.read() == [("left", replace(READING, power_mw=-700))]
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


def frame(
    pdu: bytes, unit: int = 1, protocol: int = 0, size: int | None = None, late: int = 0
) -> Callable[[int], bytes]:
    """An answer to a request, or to the one `late` requests before it."""
    size = len(pdu) + 1 if size is None else size
    rest = struct.pack(">HHB", protocol, size, unit) + pdu
    return lambda number: struct.pack(">H", (number - late) % 0x10000) + rest


def serve_answers(*answers: Sequence[Callable[[int], bytes]]) -> tuple[int, list[socket.socket]]:
    """A server that sends these answers to its first requests, over all connections, and RIGHT to
    all later ones. Returns its port and its connections."""
    listener, connections, left = socket.create_server(("127.0.0.1", 0)), [], list(answers)

    def serve(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            while request := connection.recv(260):
                number = struct.unpack(">H", request[:2])[0]
                frames = left.pop(0) if left else [RIGHT]
                connection.sendall(b"".join(make(number) for make in frames))

    def accept() -> None:
        with listener, suppress(OSError):
            while connections.append(listener.accept()[0]) is None:
                threading.Thread(target=serve, args=connections[-1:], daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()[1], connections


RIGHT = frame(bytes((3, 4, 1, 2, 3, 4)))
SILENT = ()
UNIT, PORT = "no answer that wattmark understands", "it does not speak Modbus TCP; check the port"
FAILURES = {1: "malformed", 2: "absent", 3: "malformed", 4: "refused", 10: "timeout", 11: "timeout"}
"""Status by exception code."""


@pytest.mark.parametrize(
    ("answers", "failures", "connection_count"),
    [
        *(([[frame(bytes((0x83, code)))]], [status], 1) for code, status in FAILURES.items()),
        ([[frame(bytes((4, 4, 1, 2, 3, 4)))]], [UNIT], 2),
        ([[frame(bytes((3, 2, 1, 2, 3, 4)))]], [UNIT], 2),
        ([[frame(bytes((3, 4, 1, 2)))]], [UNIT], 2),
        ([[frame(bytes((0x83, 4, 4)))]], [UNIT], 2),
        ([[frame(bytes(253))]], [UNIT], 2),
        ([[frame(bytes(254))]], [PORT], 2),
        ([[frame(b"\3")]], [PORT], 2),
        ([[frame(bytes((3, 4, 1, 2, 3, 4)), protocol=7)]], [PORT], 2),
        ([[frame(bytes((3, 4, 9, 9, 9, 9)), unit=2), RIGHT]], [], 1),
        ([SILENT, [frame(bytes((3, 4, 9, 9, 9, 9)), late=1), RIGHT]], ["timeout"], 1),
        ([[frame(b"\3", size=7)]], ["timeout"], 2),
        ([SILENT, SILENT], ["timeout"] * 2, 2),
        ([SILENT, [RIGHT], SILENT], ["timeout", None, "timeout"], 1),
        ([SILENT] * 3, ["timeout"] * 3, 2),
    ],
)
def test_a_failure_has_its_status_and_the_next_reading_is_right(
    answers: list[Sequence[Callable[[int], bytes]]], failures: list[str], connection_count: int
) -> None:
    port, connections = serve_answers(*answers)
    client = ModbusClient("127.0.0.1", port, 0.2)
    client._transaction = 0xFFFE
    for failure in [*failures, None]:
        try:
            assert client.read_registers(1, 3, 0, 2) == bytes((1, 2, 3, 4)) and failure is None
        except FeedError as error:
            assert failure in (error.status, error.problem.removeprefix("it gives "))
    assert len(connections) == connection_count
    client.close()


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(["ok", "absent", "over-range", "malformed", "timeout", "refused"]),
        min_size=1,
        max_size=4,
    )
)
def test_units_after_a_server_that_does_not_answer_are_not_asked(statuses: list[str]) -> None:
    class Client:
        def read_registers(self, unit: int, *request: int) -> bytes:
            asked.append(unit)
            if statuses[unit] != "ok":
                raise FeedError(statuses[unit], "")
            return struct.pack(">f", unit)

    asked: list[int] = []
    units = {str(unit): unit for unit in range(len(statuses))}
    access = MeterAccess("pdu", "modbus", {unit: unit for unit in units})
    readings = ModbusMeter(access, Client(), units, read_maps()[JANITZA]).read()
    end = next((i for i, s in enumerate(statuses) if s in ("timeout", "refused")), len(statuses))
    assert set(asked) == {*range(end + 1)} & {*range(len(statuses))}
    assert [(name, r.status) for name, r in readings] == [
        (name, statuses[min(unit, end)]) for name, unit in units.items()
    ]
    assert all(r.power_mw == 1000 * units[name] for name, r in readings if r.status == "ok")


@pytest.mark.parametrize(
    ("model", "unit", "says"),
    [
        ("umg", "1", "model = 'umg' is not one of janitza-umg, schneider-iem3000, carlo"),
        (JANITZA, "256", "'256' is no number of a unit; give 0 to 255"),
        (JANITZA, "-1", "'-1' is no number of a unit; give 0 to 255"),
        (JANITZA, "0", "it refuses the connection"),
        (JANITZA, "255", "it refuses the connection"),
        (JANITZA, "one", "'one' is no number of a unit; give 0 to 255"),
    ],
)
def test_an_entry_with_a_mistake_says_what_is_expected(model, unit, says):
    with pytest.raises(MeterError) as caught:
        open_meter(1, model, left=unit)
    assert says in str(caught.value)
