"""Five protocol servers that give the power of a simulated node, each to a meter of a run."""

import random
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.harness.node_power import format_value
from support.meters.bmc import USER as BMC_USER
from support.meters.bmc import Bmc
from support.meters.instrument import SocketServer, Yokogawa
from support.meters.modbus_server import ModbusServer, encode
from support.meters.pdu import COMMUNITY, Pdu
from support.meters.redfish_service import ENVIRONMENT, RedfishService
from support.meters.redfish_service import USER as REDFISH_USER
from support.meters.side_by_side import repeat, write_secret

from harness.simulation.node import NodeState
from harness.simulation.server import Client
from rules.testing.node_power import FEEDS, METER, POWER_FACTOR, SHARES, VOLTAGE_V

HOST = "127.0.0.1"
BASE_W = 300.0
EFFICIENCY = 0.96
NOISE_W = 4.0
UPDATE_PERIOD_S = 0.05
MODBUS_MODEL = "janitza-umg"
SENSORS, SENSOR_DIGITS, SENSOR_STAMPS = (
    f"1.3.6.1.4.1.13742.6.{table}.1" for table in ("5.4.3.1.4", "3.5.4.1.7", "5.4.3.1.5")
)
OUTLETS = dict(zip(FEEDS, (8, 9), strict=True))
POWER, ENERGY, VOLTAGE, CURRENT, FACTOR = 5, 8, 4, 1, 7
DIGITS = {POWER: 1, ENERGY: 3, VOLTAGE: 1, CURRENT: 3, FACTOR: 3}
ENERGY_STEP_MJ = 3600
"""1 mWh."""


@dataclass
class NodeServers:
    """The servers, and what a run has to know about them."""

    pdu: Pdu
    modbus: ModbusServer
    redfish: RedfishService
    bmc: Bmc
    instrument: SocketServer
    access_file: Path
    bmc_state: dict[str, Any] = field(default_factory=dict)
    """What the BMC does beside measuring (`Bmc.set`)."""
    clock_ahead_s: float | None = None
    """How far the clock of the PDU is ahead. None: the PDU gives no stamps."""
    clock_drift: float = 0.0
    """By how much it gains, in s per s."""

    @property
    def ports(self) -> tuple[int, ...]:
        servers = (self.pdu, self.modbus, self.redfish, self.bmc, self.instrument)
        return tuple(server.port for server in servers)

    @property
    def secrets(self) -> tuple[str, ...]:
        return COMMUNITY, self.redfish.password, self.bmc.password


class NodeProbe:
    """The node around the boards of the simulator at a path, read again by each call of `read`.
    Fans and processors let its power vary."""

    def __init__(self, simulator: str) -> None:
        self._client = Client(simulator)
        self._noise = random.Random(14)
        self.read()

    def read(self) -> None:
        boards = self._client.ask("node", at_ns=time.monotonic_ns())
        rest_w = BASE_W + self._noise.gauss(0, NOISE_W)
        self.state = NodeState(
            (boards["power_w"] + rest_w) / EFFICIENCY,
            (boards["energy_j"] + BASE_W * boards["elapsed_s"]) / EFFICIENCY,
        )

    def power_w(self) -> float:
        return self.state.power_w

    def close(self) -> None:
        self._client.close()


@contextmanager
def serve_node(directory: Path, simulator: str) -> Iterator[NodeServers]:
    """Serve the node of the simulator that listens at a path, and write meters.toml and the
    secrets into the directory. Stop the servers in the end."""
    with ExitStack() as stack:
        probe = stack.enter_context(closing(NodeProbe(simulator)))
        stack.enter_context(repeat(probe.read, UPDATE_PERIOD_S))
        (directory / "pdu").mkdir()
        started_s = time.time()
        pdu = Pdu(directory / "pdu", measure_outlets(probe.state, None))
        stack.callback(pdu.stop)
        modbus = ModbusServer({1: encode(MODBUS_MODEL, probe.power_w(), 0.0)})
        redfish = RedfishService(directory, probe.power_w)
        stack.callback(redfish.stop)
        bmc = Bmc(directory)
        stack.callback(bmc.stop)
        instrument = SocketServer(Yokogawa(probe.power_w))
        stack.callback(instrument.stop)
        servers = NodeServers(pdu, modbus, redfish, bmc, instrument, directory / "meters.toml")
        write_access_file(directory, servers)
        # A test may have put another server in the place of the first.
        stack.callback(lambda: servers.modbus.stop())  # noqa: PLW0108

        def update() -> None:
            state, now_s = probe.state, time.time()
            stamp_s = None
            if servers.clock_ahead_s is not None:
                gain_s = servers.clock_drift * (now_s - started_s)
                stamp_s = int(now_s + servers.clock_ahead_s + gain_s)
            pdu.set(measure_outlets(state, stamp_s))
            # A server that was started again has registers of its own.
            servers.modbus.registers[1].update(
                encode(MODBUS_MODEL, state.power_w, state.energy_j / 3600)
            )
            bmc.set(power_w=state.power_w, stamp_s=int(now_s), **servers.bmc_state)

        stack.enter_context(repeat(update, UPDATE_PERIOD_S))
        yield servers


def measure_outlets(state: NodeState, stamp_s: int | None) -> dict[str, tuple[str, object]]:
    """The objects of two outlets of a Raritan PX that supply the node."""
    objects: dict[str, tuple[str, object]] = {}
    for share, outlet in zip(SHARES, OUTLETS.values(), strict=True):
        values = {
            POWER: share * state.power_w,
            ENERGY: share * state.energy_j / 3600,
            VOLTAGE: VOLTAGE_V,
            CURRENT: share * state.power_w / VOLTAGE_V / POWER_FACTOR,
            FACTOR: POWER_FACTOR,
        }
        for sensor, value in values.items():
            digits = DIGITS[sensor]
            objects[f"{SENSORS}.{outlet}.{sensor}"] = ("gauge", round(value * 10**digits))
            objects[f"{SENSOR_DIGITS}.{outlet}.{sensor}"] = ("gauge", digits)
        if stamp_s is not None:
            objects[f"{SENSOR_STAMPS}.{outlet}.{POWER}"] = ("gauge", stamp_s)
    return objects


def write_access_file(directory: Path, servers: NodeServers) -> None:
    """Write meters.toml, and the secrets that it refers to."""
    tables: Mapping[str, Mapping[str, Any]] = {
        METER: {
            "kind": "snmp",
            "port": servers.pdu.port,
            "model": "raritan-px",
            "community_file": write_secret(directory / "snmp.secret", COMMUNITY),
            "feeds": {feed: f"1.{outlet}" for feed, outlet in OUTLETS.items()},
        },
        "modbus": {"port": servers.modbus.port, "model": MODBUS_MODEL, "feeds": {"inlet": "1"}},
        "redfish": {
            "port": servers.redfish.port,
            "user": REDFISH_USER,
            "ca_file": str(servers.redfish.ca_file),
            "password_file": write_secret(directory / "redfish.secret", servers.redfish.password),
            "feeds": {"inlet": ENVIRONMENT},
        },
        "ipmi": {
            "port": servers.bmc.port,
            "user": BMC_USER,
            "password_file": write_secret(directory / "ipmi.secret", servers.bmc.password),
            "feeds": {"inlet": ""},
        },
        "scpi": {
            "port": servers.instrument.port,
            "instrument": "yokogawa-wt310e",
            "voltage_range_v": 300,
            "current_range_a": 20,
            "feeds": {"inlet": "1"},
        },
    }
    lines = []
    for meter, table in tables.items():
        lines += [f"[{meter}]"]
        values = {"kind": meter, "host": HOST, **table}
        lines += [f"{key} = {format_value(value)}" for key, value in values.items()]
    servers.access_file.touch(mode=0o600)
    servers.access_file.write_text("\n".join(lines) + "\n")


def declare_meters(calibrated_on: str, **changes: object) -> list[dict[str, Any]]:
    """The [[meter]] tables of system.toml. `changes` are those of the meter of record."""
    shared = {
        "scope": "node",
        "location": "pdu-outlet",
        "current": "ac",
        "accuracy_percent": 1.0,
        "accuracy_source": "data sheet",
        "calibrated_on": calibrated_on,
        "interval_ms": 1000,
        "clock": "node",
        "nodes_covered": 1,
    }
    pdu = {
        **shared,
        "id": METER,
        "kind": "snmp",
        "model": "Raritan PX3-5902",
        "interval_ms": 250,
        "energy_step_mj": ENERGY_STEP_MJ,
        "feeds": [{"feed": feed, "node": "node0"} for feed in FEEDS],
        **changes,
    }
    second_meters = [
        {
            **shared,
            "id": kind,
            "kind": kind,
            "of_record": False,
            # Steps of the load are within an interval, and the two counters show them.
            "interval_ms": 250 if kind == "modbus" else 1000,
            "feeds": [{"feed": "inlet", "node": "node0"}],
        }
        for kind in ("modbus", "redfish", "ipmi", "scpi")
    ]
    return [pdu, *second_meters]
