"""A simulated board with a clock that a test sets."""

from harness.simulation.boards import Boards

S = 1_000_000_000
BOARD = "SIM-H200-0"


class Bench:
    """Boards whose clock a test sets."""

    def __init__(self, argument: str) -> None:
        self.now_ns = 0
        self.boards = Boards(argument, lambda: 0.0, lambda: self.now_ns)
        self.uuid = self.boards.devices()["devices"][0]["uuid"]

    def measure_settled(self, workload: str, cap_w: float, readings: int = 50):
        """Throughput in items/s and mean power in W by the counter, of the workload at a cap, after
        the board has settled."""
        self.boards.set_cap(self.uuid, round(1e3 * cap_w))
        self.boards.work(self.uuid, workload)
        self.now_ns += S
        before = self.boards.read(self.uuid, self.now_ns)
        for _ in range(readings):
            self.now_ns += S // 10
            after = self.boards.read(self.uuid, self.now_ns)
        power_w = (after["energy_mj"] - before["energy_mj"]) / 1e3 / (readings / 10)
        return self.boards.rate(self.uuid), power_w
