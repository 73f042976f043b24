"""Node meters of several kinds and the sampler of the accelerators side by side, each against a
real server of its protocol (tests/support/meters/)."""

import csv
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from support.meters import truth
from support.meters.bmc import USER as BMC_USER
from support.meters.bmc import Bmc
from support.meters.instrument import SocketServer, Yokogawa
from support.meters.modbus_server import ModbusServer, encode
from support.meters.pdu import COMMUNITY, Pdu
from support.meters.redfish_service import ENVIRONMENT, RedfishService
from support.meters.redfish_service import USER as REDFISH_USER
from support.meters.vxi11_server import Vxi11Server

from harness.power.node_reader import NODE_SAMPLES_PREFIX, MeterSampling, NodeReaders
from harness.power.sampler import Sampler, Settings
from rules.declarations.system import MeterDeclaration

OUTLET = "1.3.6.1.4.1.13742.6.5.4.3.1.4.1.8"
"""Active power is object 5, and energy object 8, of an outlet of a Raritan PX."""
OUTLET_DIGITS = "1.3.6.1.4.1.13742.6.3.5.4.1.7.1.8"
"""Decimal digits of these objects."""
MODBUS_MODEL = "janitza-umg"
UPDATE_PERIOD_S = 0.1
"""How often the PDU and the Modbus meter measure."""
NODE = "node0"
BOARDS = tuple(f"SIM-H200-{number}" for number in range(8))


@dataclass(frozen=True)
class ServedMeter:
    """A meter, its server, and how to reach it: its table in meters.toml."""

    kind: str
    resolution_w: float
    entry: Mapping[str, Any]
    server: Any
    feed_resource: str
    lag_s: float = 0.0
    """How old the value is that the server gives."""

    @property
    def declaration(self) -> MeterDeclaration:
        return MeterDeclaration.from_json(
            "",
            {
                "id": self.kind,
                "kind": self.kind,
                "scope": "node",
                "location": "psu-input",
                "current": "ac",
                "interval_ms": 1000,
                "clock": "node",
                "feeds": [{"feed": "inlet", "node": NODE}],
            },
        )


@dataclass
class Measurement:
    """What meters and sampler read."""

    node_rows: dict[str, list[dict[str, str]]]
    """The rows of node_samples.csv of each kind of meter."""
    sampling: tuple[MeterSampling, ...]
    board_counts: dict[str, int]
    """Ticks, and missed ticks, of the sampler."""
    board_rows: list[dict[str, str]]

    def power_w(self, kind: str) -> list[float]:
        """The power that a meter read, in order; only of readings with the status `ok`."""
        return [float(r["power_mw"]) / 1e3 for r in self.node_rows[kind] if r["status"] == "ok"]

    def statuses(self, kind: str) -> list[str]:
        return [row["status"] for row in self.node_rows[kind]]

    def true_power_w(self, meter: ServedMeter) -> list[float]:
        """What was true when each of these readings was taken, in W. If the power changed between
        request and answer, the value that is nearer to the reading."""
        rows = [row for row in self.node_rows[meter.kind] if row["status"] == "ok"]
        true_w = []
        for row, power_w in zip(rows, self.power_w(meter.kind), strict=True):
            sent_s, read_s = (int(row[column]) / 1e9 for column in ("sent_ns", "read_ns"))
            candidates_w = map(truth.power_w, (sent_s - meter.lag_s, sent_s, read_s))
            true_w.append(min(candidates_w, key=lambda w: abs(w - power_w)))
        return true_w

    def largest_error_w(self, meter: ServedMeter) -> float:
        """The largest difference of a reading from the truth, in W."""
        pairs = zip(self.power_w(meter.kind), self.true_power_w(meter), strict=True)
        return max(abs(power_w - true_w) for power_w, true_w in pairs)

    def board_intervals_ms(self) -> list[float]:
        """The times between successive readings of the first board, sorted."""
        times = [int(r["read_ns"]) / 1e6 for r in self.board_rows if r["accelerator"] == BOARDS[0]]
        return sorted(later - earlier for earlier, later in pairwise(times))


def now_power_w() -> float:
    return truth.power_w(time.monotonic())


ANALYSER = {
    "instrument": "yokogawa-wt310e",
    "voltage_range_v": 300,
    "current_range_a": 20,
}
"""Settings of the simulated power analysers."""


def _describe_controllers(
    directory: Path, redfish: RedfishService, bmc: Bmc
) -> tuple[ServedMeter, ServedMeter]:
    """The meters of a management controller: Redfish and IPMI."""
    return (
        ServedMeter(
            "redfish",
            0.001,
            {
                "port": redfish.port,
                "user": REDFISH_USER,
                "ca_file": str(redfish.ca_file),
                "password_file": write_secret(directory / "redfish.secret", redfish.password),
            },
            redfish,
            ENVIRONMENT,
        ),
        ServedMeter(
            "ipmi",
            1.0,
            {
                "port": bmc.port,
                "user": BMC_USER,
                "password_file": write_secret(directory / "ipmi.secret", bmc.password),
            },
            bmc,
            "",
        ),
    )


@contextmanager
def serve_meters(directory: Path) -> Iterator[dict[str, ServedMeter]]:
    """Start the servers, write `directory`/meters.toml, and stop the servers in the end."""
    with ExitStack() as stack:
        redfish = RedfishService(directory, now_power_w)
        stack.callback(redfish.stop)
        bmc = Bmc(directory)
        stack.callback(bmc.stop)
        bmc.set(power_w=None, stamp_s=None)
        instrument = SocketServer(Yokogawa(now_power_w))
        stack.callback(instrument.stop)
        vxi11 = Vxi11Server(Yokogawa(now_power_w))
        stack.callback(vxi11.stop)
        pdu = stack.enter_context(serve_pdu(directory))
        modbus = stack.enter_context(serve_modbus())
        meters = [
            ServedMeter(
                "snmp",
                0.1,
                {
                    "port": pdu.port,
                    "model": "raritan-px",
                    "community_file": write_secret(directory / "snmp.secret", COMMUNITY),
                },
                pdu,
                "1.8",
                lag_s=5 * UPDATE_PERIOD_S,
            ),
            ServedMeter(
                "modbus",
                0.001,
                {"port": modbus.port, "model": MODBUS_MODEL},
                modbus,
                "1",
                lag_s=5 * UPDATE_PERIOD_S,
            ),
            *_describe_controllers(directory, redfish, bmc),
            ServedMeter(
                "scpi",
                0.01,
                {"port": instrument.port, **ANALYSER},
                instrument,
                "1",
            ),
            ServedMeter("vxi11", 0.01, {"port": vxi11.port, **ANALYSER}, vxi11, "1"),
        ]
        write_access_file(directory / "meters.toml", meters)
        yield {meter.kind: meter for meter in meters}


@contextmanager
def serve_pdu(directory: Path) -> Iterator[Pdu]:
    """A PDU, one outlet of which has the power of the truth."""
    place = directory / "pdu"
    place.mkdir()

    def measure() -> dict[str, tuple[str, object]]:
        return {
            f"{OUTLET}.5": ("gauge", round(10 * now_power_w())),
            f"{OUTLET_DIGITS}.5": ("gauge", 1),
        }

    pdu = Pdu(place, measure())
    try:
        with repeat(lambda: pdu.set(measure())):
            yield pdu
    finally:
        pdu.stop()


@contextmanager
def serve_modbus() -> Iterator[ModbusServer]:
    """A Modbus meter, unit 1 of which has the power of the truth."""

    def measure() -> dict[int, list[int]]:
        return encode(MODBUS_MODEL, now_power_w(), 0.0)

    server = ModbusServer({1: measure()})
    try:
        with repeat(lambda: server.registers[1].update(measure())):
            yield server
    finally:
        server.stop()


@contextmanager
def repeat(measure: Callable[[], object], period_s: float = UPDATE_PERIOD_S) -> Iterator[None]:
    """Call `measure` every `period_s` in a thread."""
    stopped = threading.Event()

    def run() -> None:
        while not stopped.wait(period_s):
            measure()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


def write_secret(path: Path, secret: str) -> str:
    path.write_text(secret)
    return str(path)


def write_access_file(path: Path, meters: list[ServedMeter]) -> None:
    lines = []
    for meter in meters:
        lines += [f"[{meter.kind}]", f'kind = "{meter.kind}"', 'host = "127.0.0.1"']
        lines += [f"{key} = {json.dumps(value)}" for key, value in meter.entry.items()]
        lines.append(f"feeds = {{ inlet = {json.dumps(meter.feed_resource)} }}")
    path.touch(mode=0o600)
    path.write_text("\n".join(lines) + "\n")


def measure(
    directory: Path,
    meters: Mapping[str, ServedMeter],
    seconds: float,
    disturb: Callable[[], object] = lambda: None,
) -> Measurement:
    """Read all meters every second, and eight simulated boards every 100 ms, for `seconds`.
    `disturb` is called in the middle. Without meters, the sampler is alone."""
    declarations = [meter.declaration for meter in meters.values()]
    log: list[str] = []
    readers = NodeReaders(declarations, NODE, directory, directory / "meters.toml", log.append)
    with (
        readers.run(),
        Sampler(Settings("simulated:h200", BOARDS, NODE, 100, str(directory))) as (sampler),
    ):
        time.sleep(seconds / 2)
        disturb()
        time.sleep(seconds / 2)
        board_counts = sampler.stop()
        sampling = readers.stop()
    assert log == []
    return Measurement(
        {kind: read_rows(directory / f"{NODE_SAMPLES_PREFIX}{kind}.csv") for kind in meters},
        sampling,
        {key: board_counts[key] for key in ("ticks", "missed")},
        read_rows(directory / "samples.csv"),
    )


def read_rows(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))
