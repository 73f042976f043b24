"""A simulated node around simulated accelerators: the rest of the node and its power supplies."""

import os
from dataclasses import dataclass

from harness.errors import MeterError
from harness.simulation.server import VARIABLE, Client


@dataclass(frozen=True)
class NodeState:
    """Power and energy of a node at one instant."""

    power_w: float
    energy_j: float
    """Since the simulator started."""


class SimulatedNode:
    """A node with the boards of the simulator that the environment names.

    `base_w` is the power that the node draws behind its power supplies without the boards. Raises
    MeterError if no simulator answers.
    """

    def __init__(self, base_w: float, efficiency: float) -> None:
        path = os.environ.get(VARIABLE)
        if path is None:
            raise MeterError(
                f"a simulated node needs a simulator ({VARIABLE} is not set); add --simulate h200"
            )
        if not (base_w >= 0 and 0 < efficiency <= 1):
            raise MeterError(
                f"a simulated node needs a power of 0 W or more and an efficiency of 0 to 1, found "
                f"{base_w:g} and {efficiency:g}"
            )
        self._base_w, self._efficiency = base_w, efficiency
        self._client = Client(path)

    def read(self, at_ns: int) -> NodeState:
        """Return the state at a time of the monotonic clock. Raises MeterError."""
        answer = self._client.ask("node", at_ns=at_ns)
        return NodeState(
            (answer["power_w"] + self._base_w) / self._efficiency,
            (answer["energy_j"] + self._base_w * answer["elapsed_s"]) / self._efficiency,
        )

    def close(self) -> None:
        self._client.close()
