"""Simulated accelerators, for tests, demos and tutorials: the client of the simulator.

The environment variable WATTMARK_SIMULATOR holds the simulator's socket (see
`harness/simulation/server.py`). Where it is unset, the boards are held in this process and nobody
else sees them, which is enough to look at them.
"""

import time
from collections.abc import Callable
from typing import Any

from harness.power.sources import Device, MeterError, Readback
from harness.simulation.boards import Boards
from harness.simulation.server import connect
from rules.bundle_format.records import Reading

Ask = Callable[..., Any]


def open_meter(argument: str) -> "SimulatedMeter":
    """Eight simulated boards: the model h100, h200 or mi300x, then faults, as in
    `h200,disobey=400`."""
    if client := connect(argument):
        return SimulatedMeter(client.ask, client.close)
    boards = Boards(argument)
    return SimulatedMeter(lambda do, **arguments: boards.answer(do, arguments))


class SimulatedMeter:
    """See `harness.power.sources.Meter`. `ask` puts a question to the boards, as
    `harness.simulation.boards.Boards` has them."""

    driver: str | None = "simulated"
    state: str | None
    torch_device = "cpu"

    def __init__(
        self,
        ask: Ask,
        close: Callable[[], None] = lambda: None,
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._ask, self._close, self._clock = ask, close, clock
        found = ask("devices")
        self.state = found["state"]
        self._devices = [Device(**device) for device in found["devices"]]

    def devices(self) -> list[Device]:
        return self._devices

    def read(self, uuid: str) -> Reading:
        try:
            return Reading(**self._ask("read", uuid=uuid, at_ns=self._clock()))
        except MeterError as error:
            return Reading(status=str(error))

    def readback(self, uuid: str, own_pids: frozenset[int]) -> Readback:
        try:
            return Readback(**self._ask("readback", uuid=uuid))
        except MeterError:  # as of any board that does not answer, nothing is known
            return Readback()

    def set_cap(self, uuid: str, cap_mw: int) -> None:
        self._ask("set_cap", uuid=uuid, cap_mw=cap_mw)

    def set_state(self, uuid: str, state: str) -> None:
        self._ask("set_state", uuid=uuid, state=state)

    def close(self) -> None:
        self._close()
