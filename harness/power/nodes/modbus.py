"""Meters over Modbus TCP, also behind a gateway.

Keys of meters.toml: `model` (a table of `modbus_maps.toml`). A feed is the number of a unit, 0 to
255. Modbus has neither users nor passwords.
"""

import contextlib
import math
import socket
import struct
import time
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Self

from harness.errors import MeterError
from harness.power.feeds.feed import FeedError
from harness.power.feeds.frame import FramedMeter
from harness.power.node_meter import MeterAccess
from rules.bundle_format.records import FeedReading

PORT = 502
UNITS = {"W": 1e3, "kW": 1e6, "0.1 W": 1e2, "Wh": 3.6e6, "0.1 kWh": 3.6e8}
"""What one count is in mW or mJ."""
FIELDS = {"power": "power_mw", "energy": "energy_mj"}
TYPES = {"f32": ">f", "i32": ">i", "i32-swapped": ">i", "i64": ">q"}
"""The formats of `struct`, high word first."""
EXCEPTIONS = {
    1: ("malformed", "it does not know the function; check model in meters.toml"),
    2: ("absent", "it has no such register; check model in meters.toml"),
    3: ("malformed", "it refuses the number of registers; check model in meters.toml"),
    10: ("timeout", "the gateway has no path to the unit; check feeds in meters.toml"),
    11: ("timeout", "the unit behind the gateway does not answer; check feeds in meters.toml"),
}
"""Status and problem by exception code (Modbus Application Protocol 1.1b3, section 7)."""


class ModbusClient:
    """A connection to one server. Answers of earlier requests, which arrive after their timeout,
    are recognised by their transaction number and skipped."""

    def __init__(self, host: str, port: int, timeout_s: float) -> None:
        self._address, self._timeout_s = (host, port), timeout_s
        self._socket: socket.socket | None = None
        self._transaction = 0
        self._timeouts = 0

    def read_registers(self, unit: int, function: int, address: int, count: int) -> bytes:
        """The content of `count` registers, high byte first. Raises FeedError."""
        try:
            content = self._request(unit, struct.pack(">BHH", function, address, count))
        except TimeoutError as error:
            # A late answer is skipped. A server that does not answer twice needs a new connection.
            self._timeouts += 1
            if self._timeouts > 1:
                self.close()
            raise FeedError.from_network(error) from None
        except OSError as error:
            self.close()
            raise FeedError.from_network(error) from None
        self._timeouts = 0
        if content[0] == function | 0x80 and len(content) == 2:
            problem = ("refused", f"it refuses the request with exception {content[1]}")
            raise FeedError(*EXCEPTIONS.get(content[1], problem))
        if content[0] != function or content[1] != 2 * count or len(content) != 2 + 2 * count:
            self.close()
            raise FeedError("malformed", "it gives no answer that wattmark understands")
        return content[2:]

    def close(self) -> None:
        """Close the connection. The next request opens another."""
        if self._socket is not None:
            self._socket.close()
        self._socket, self._timeouts = None, 0

    def _request(self, unit: int, request: bytes) -> bytes:
        """Send a request and return the content of its answer. Raises OSError or FeedError."""
        deadline_s = time.monotonic() + self._timeout_s
        if self._socket is None:
            self._socket = socket.create_connection(self._address, self._timeout_s)
        self._transaction = (self._transaction + 1) % 0x10000
        header = struct.pack(">HHHB", self._transaction, 0, len(request) + 1, unit)
        self._socket.sendall(header + request)
        while True:
            transaction, protocol, length, answering_unit = struct.unpack(
                ">HHHB", self._receive(7, deadline_s)
            )
            if protocol != 0 or not 2 <= length - 1 <= 253:
                self.close()
                raise FeedError("malformed", "it does not speak Modbus TCP; check the port")
            content = self._receive(length - 1, deadline_s)
            if transaction == self._transaction and answering_unit == unit:
                return content

    def _receive(self, size: int, deadline_s: float) -> bytes:
        assert self._socket is not None
        content = b""
        while len(content) < size:
            left_s = deadline_s - time.monotonic()
            if left_s <= 0:
                if content:
                    # The rest of the answer would be read as the header of the next.
                    self.close()
                raise TimeoutError
            self._socket.settimeout(left_s)
            try:
                chunk = self._socket.recv(size - len(content))
            except TimeoutError:
                continue
            if not chunk:
                raise ConnectionResetError
            content += chunk
        return content


class ModbusMeter(FramedMeter):
    """Reads the units of one server."""

    blocking_timeout_s = 1.0
    option_names = frozenset({"model"})
    stale_fields = ()

    def __init__(
        self,
        access: MeterAccess,
        client: ModbusClient,
        units: Mapping[str, int],
        registers: Any,
    ) -> None:
        super().__init__(access)
        self._client, self._units, self._registers = client, units, registers

    @classmethod
    def make(cls, access: MeterAccess) -> Self:
        maps, model = read_maps(), access.options.get("model", "")
        if model not in maps:
            raise MeterError(
                f"meter {access.id}: model = {model!r} is not one of {', '.join(maps)}; correct it "
                "in meters.toml"
            )
        units = {feed: _parse_unit(access, feed, text) for feed, text in access.feeds.items()}
        client = ModbusClient(access.require_host(), access.port or PORT, cls.blocking_timeout_s)
        return cls(access, client, units, maps[model])

    def prepare(self) -> None:
        self._read_unit(next(iter(self._units.values())))

    def read_feeds(self) -> list[tuple[str, FeedReading]]:
        readings: dict[str, FeedReading] = {}
        for feed, unit in self._units.items():
            try:
                readings[feed] = self._read_unit(unit)
            except FeedError as error:
                readings[feed] = FeedReading(status=error.status)
                if error.status in ("timeout", "refused"):
                    # The other units would wait for the same server as long.
                    return [(name, readings.get(name, readings[feed])) for name in self._units]
        return list(readings.items())

    def close(self) -> None:
        self._client.close()

    def _read_unit(self, unit: int) -> FeedReading:
        values: dict[str, Any] = {}
        for name, field in FIELDS.items():
            register = self._registers[name]
            size = struct.calcsize(TYPES[register["type"]])
            content = self._client.read_registers(
                unit, self._registers["function"], register["address"], size // 2
            )
            count = _decode(register["type"], content)
            if math.isnan(count):
                raise FeedError("absent", "it has no value in a register")
            if math.isinf(count):
                raise FeedError("over-range", "its value is out of range")
            values[field] = round(count * UNITS[register["unit"]])
        return FeedReading(**values)


@cache
def read_maps() -> dict[str, Any]:
    """The tables of `modbus_maps.toml`."""
    return tomllib.loads(files("harness.power.nodes").joinpath("modbus_maps.toml").read_text())


def _parse_unit(access: MeterAccess, feed: str, text: str) -> int:
    with contextlib.suppress(ValueError):
        if 0 <= (unit := int(text)) <= 255:
            return unit
    raise MeterError(
        f"meter {access.id}, feed {feed}: {text!r} is no number of a unit; give 0 to 255"
    )


def _decode(kind: str, content: bytes) -> float:
    if kind == "i32-swapped":
        content = content[2:] + content[:2]
    value: float = struct.unpack(TYPES[kind], content)[0]
    return value
