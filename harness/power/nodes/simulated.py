"""A simulated node around the simulated accelerators, for tests, demos and tutorials.

Each feed carries an equal share of the power of the node: what the boards draw, and the rest of the
node, through a power supply. The keys of meters.toml are `base_w` (power of the node without its
boards, 1500) and `efficiency` (of the power supplies, 0.96). The boards are those of the simulator
that the environment variable WATTMARK_SIMULATOR names.
"""

import time

from harness.errors import MeterError
from harness.power.feeds.feed import FeedError
from harness.power.feeds.frame import FramedMeter
from harness.power.node_meter import MeterAccess
from harness.simulation.node import SimulatedNode
from rules.bundle_format.records import FeedReading


class SimulatedNodeMeter(FramedMeter):
    """Reads a simulated node."""

    needs_access = False
    simulated = True
    option_names = frozenset({"base_w", "efficiency"})
    stale_fields = ()

    def __init__(self, access: MeterAccess) -> None:
        super().__init__(access)
        options = {**{"base_w": "1500", "efficiency": "0.96"}, **access.options}
        try:
            self._node = SimulatedNode(float(options["base_w"]), float(options["efficiency"]))
        except ValueError:
            raise MeterError(f"meter {access.id}: base_w and efficiency must be numbers") from None

    def read_feeds(self) -> list[tuple[str, FeedReading]]:
        try:
            state = self._node.read(time.monotonic_ns())
        except MeterError as error:
            raise FeedError("timeout", str(error)) from None
        share = len(self._access.feeds)
        reading = FeedReading(
            power_mw=round(1e3 * state.power_w / share),
            energy_mj=round(1e3 * state.energy_j / share),
        )
        return [(feed, reading) for feed in self._access.feeds]

    def close(self) -> None:
        self._node.close()
