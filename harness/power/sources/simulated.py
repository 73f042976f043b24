"""Simulated accelerators, for tests, demos and tutorials: the client of the simulator.

The environment variable WATTMARK_SIMULATOR holds the simulator's socket (see
`harness/simulation/server.py`). If it is unset, the boards are in this process and no other process
sees them.
"""

import os
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from threading import Lock
from typing import Any

from harness.errors import MeterError
from harness.power.source import (
    CapControl,
    ClockControl,
    CounterApart,
    Device,
    PowerSource,
    Readback,
)
from harness.simulation.board_models import COUNTER_READ, parse_argument
from harness.simulation.board_state import Activity
from harness.simulation.boards import Boards
from harness.simulation.server import VARIABLE, connect
from rules.bundle_format.records import Reading

Ask = Callable[..., Any]

LOG_MEAN, LOG_SD, LONGEST_SHARE = -0.188, 0.613, 4.8
"""Distribution of the time that reading a counter takes, over its mean: lognormal. Of 3.7 ms on
average, 95 % take less than 8.4 ms and none more than 17.7 ms, as on four busy H200s."""


class SimulatedSource(PowerSource, CapControl, ClockControl):
    """Reads simulated boards and sets their caps, power states and SM clocks."""

    simulated = True
    driver = "simulated"

    @classmethod
    def open(cls, argument: str) -> "SimulatedSource":
        """Open eight simulated boards. `argument` is a model (h100, h200, b200, gb200 or mi300x),
        then faults, as in `h200,disobey=400`."""
        _, settings = parse_argument(argument)
        make: Callable[..., SimulatedSource] = cls
        if COUNTER_READ in settings:
            make = partial(_SlowCounterSource, settings[COUNTER_READ])
        if client := connect(argument):
            return make(client.ask, client.close)
        # Without a simulator process the boards live and end with this one.
        boards = Boards(argument)
        # Workers cannot name their boards to it, so that all boards follow the load of the CPUs.
        for device in boards.devices()["devices"]:
            boards.set_activity(device["uuid"], Activity.COMPUTING)
        return make(lambda do, **arguments: boards.answer(do, arguments))

    @classmethod
    def journal_directory(cls) -> Path | None:
        """The directory of the simulator's socket. Boards within this process have no journal."""
        path = os.environ.get(VARIABLE)
        return Path(path).parent if path else None

    @classmethod
    def board_directory(cls) -> Path | None:
        """None: the boards of a simulator have one journal, beside its socket."""
        return None

    def __init__(
        self,
        ask: Ask,
        close: Callable[[], None] = lambda: None,
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        """`ask` calls a method of `harness.simulation.boards.Boards` by its name."""
        self._ask, self._close, self._clock = ask, close, clock
        answer = ask("devices")
        self.state = answer["state"]
        self._devices = [Device(**device) for device in answer["devices"]]

    def devices(self) -> list[Device]:
        return self._devices

    def read(self, uuid: str) -> Reading:
        try:
            return Reading(**self._ask("read", uuid=uuid, at_ns=self._clock()))
        except MeterError as error:
            # `read` never raises: a failed reading is recorded as failed.
            return Reading(status=str(error))

    def readback(self, uuid: str, own_pids: frozenset[int]) -> Readback:
        try:
            return Readback(**self._ask("readback", uuid=uuid))
        except MeterError:  # a board that does not answer has no known settings
            return Readback()

    def read_buffer(self, uuid: str, after_ns: int) -> list[tuple[int, int]]:
        try:
            return list(
                map(tuple, self._ask("buffer", uuid=uuid, after_ns=after_ns, at_ns=self._clock()))
            )
        except MeterError:  # a board that does not answer keeps nothing
            return []

    def switch_load(self, uuid: str, is_on: bool) -> None:
        """Begin or end the work of a board, for the examination of its sensor. Raises
        MeterError."""
        self._ask("work", uuid=uuid, workload="burn-bf16" if is_on else None)

    def set_cap(self, uuid: str, cap_mw: int) -> None:
        self._ask("set_cap", uuid=uuid, cap_mw=cap_mw)

    def set_state(self, uuid: str, state: str) -> None:
        self._ask("set_state", uuid=uuid, state=state)

    def list_sm_clocks(self, uuid: str) -> list[int]:
        clocks_mhz: list[int] = self._ask("list_sm_clocks", uuid=uuid)
        return clocks_mhz

    def lock_sm_clock(self, uuid: str, sm_mhz: int) -> None:
        self._ask("lock_sm_clock", uuid=uuid, sm_mhz=sm_mhz)

    def reset_sm_clock(self, uuid: str) -> None:
        self._ask("reset_sm_clock", uuid=uuid)

    def close(self) -> None:
        self._close()


class _SlowCounterSource(SimulatedSource, CounterApart):
    """Simulated boards whose energy counters take `counter_read_ms` to read on average. Several
    threads may use it."""

    def __init__(self, counter_read_ms: float, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._counter_read_ms = counter_read_ms
        self._random, self._lock = Random(), Lock()
        ask = self._ask

        def ask_in_turn(method: str, **named: Any) -> Any:
            # The connection to the simulator serves one request at a time.
            with self._lock:
                return ask(method, **named)

        self._ask = ask_in_turn

    def read(self, uuid: str) -> Reading:
        return replace(self.read_state(uuid), energy_mj=self.read_counter(uuid))

    def read_state(self, uuid: str) -> Reading:
        return replace(super().read(uuid), energy_mj=None)

    def read_counter(self, uuid: str) -> int | None:
        reading = super().read(uuid)
        share = min(self._random.lognormvariate(LOG_MEAN, LOG_SD), LONGEST_SHARE)
        time.sleep(1e-3 * self._counter_read_ms * share)
        return reading.energy_mj
