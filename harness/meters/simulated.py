"""Simulated accelerators, for tests, demos and tutorials: a small physical model of a board under a power cap.

The load is what the node's CPUs are doing (share of busy time in /proc/stat since the last reading), because a simulated
run computes on the CPU. Power follows the load with a lag, is held down by the cap, and carries sensor noise; the counter
integrates the power before noise and shows a new value every 100 ms, as Hopper boards do. The clock falls with the
cube root of the power that the cap leaves (dynamic power rises with frequency times the square of the voltage).
"""

import math
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness.meters import Device, MeterError, Readback
from rules.boards import SIMULATED_PREFIX, board
from rules.records import Reading

COUNT = 8
LAG_S = 0.05
AVERAGING_S = 1.0
COUNTER_REFRESH_S = 0.1
NOISE_SHARE = 0.005
DEMAND_SHARE = 1.1  # what a fully loaded board would draw without a cap, as a share of its highest cap
MIN_CAP_SHARE = 2 / 7
SOFTWARE_POWER_CAP, GPU_IDLE = 0x4, 0x1
MEMORY_BYTES = 16 * 2**30


@dataclass(frozen=True)
class Model:
    """The numbers of one simulated board."""

    name: str
    idle_w: float
    max_w: float
    sm_mhz: int
    mem_mhz: int


MODELS = {
    "h100": Model("H100", 75, 700, 1980, 2619),
    "h200": Model("H200", 78, 700, 1980, 3201),
    "mi300x": Model("MI300X", 140, 750, 2100, 1300),
}


def open_meter(argument: str) -> "SimulatedMeter":
    """Eight simulated boards of the model `argument`: h100, h200 or mi300x."""
    model = MODELS.get(argument)
    if model is None:
        raise MeterError(f"there is no simulated accelerator {argument!r}; there are {', '.join(MODELS)}")
    return SimulatedMeter(model, BusyShare())


class BusyShare:
    """Share of time, 0 to 1, that the node's CPUs were busy between two calls; 1 where /proc/stat is missing."""

    def __init__(self, stat: Path = Path("/proc/stat")) -> None:
        self._stat = stat
        self._last = self._ticks()
        self._share = 0.0

    def __call__(self) -> float:
        now = self._ticks()
        if now is None or self._last is None:
            return 1.0
        total = now[1] - self._last[1]
        if total >= 4:  # ticks are 10 ms; fewer of them say too little
            self._share, self._last = (now[0] - self._last[0]) / total, now
        return self._share

    def _ticks(self) -> tuple[int, int] | None:
        try:
            fields = [int(f) for f in self._stat.read_text().split("\n", 1)[0].split()[1:9]]
        except (OSError, ValueError):
            return None
        idle = fields[3] + fields[4]
        return sum(fields) - idle, sum(fields)


@dataclass
class _Board:
    noise: random.Random
    last_ns: int
    power_w: float
    average_w: float
    energy_j: float = 0.0
    shown_j: float = 0.0
    shown_ns: int = 0


class SimulatedMeter:
    """See `harness.meters.Meter`. All boards carry the same load; their noise differs."""

    driver: str | None = "simulated"
    state: str | None = "P0"
    torch_device = "cpu"

    def __init__(
        self, model: Model, load: Callable[[], float], cap_w: float | None = None, clock: Callable[[], int] = time.monotonic_ns
    ) -> None:
        self._model, self._load, self._clock = model, load, clock
        self._cap_w = cap_w or model.max_w
        self._boards = {
            f"SIM-{model.name}-{i}": _Board(random.Random(i), clock(), model.idle_w, model.idle_w) for i in range(COUNT)
        }
        known = board(model.name)
        self.state = "auto" if known and "AMD" in known.names[0] else "P0"

    def devices(self) -> list[Device]:
        name = SIMULATED_PREFIX + self._model.name
        return [Device(u, name, "simulated", MEMORY_BYTES, max_power_w=self._model.max_w) for u in self._boards]

    def read(self, uuid: str) -> Reading:
        model, one, now_ns = self._model, self._boards[uuid], self._clock()
        load = min(1.0, max(0.0, self._load()))
        demand_w = model.idle_w + load * (model.max_w * DEMAND_SHARE - model.idle_w)
        allowed_w = min(demand_w, self._cap_w * (1 - NOISE_SHARE))
        since_s = (now_ns - one.last_ns) / 1e9
        before_w = one.power_w
        one.power_w = allowed_w + (before_w - allowed_w) * math.exp(-since_s / LAG_S)
        one.average_w += (one.power_w - one.average_w) * (1 - math.exp(-since_s / AVERAGING_S))
        one.energy_j += since_s * (before_w + one.power_w) / 2
        if (now_ns - one.shown_ns) / 1e9 >= COUNTER_REFRESH_S * 0.9:
            one.shown_j, one.shown_ns = one.energy_j, now_ns
        one.last_ns = now_ns
        throttled = demand_w > allowed_w
        share = ((allowed_w - model.idle_w) / (demand_w - model.idle_w)) ** (1 / 3) if throttled else 1.0
        return Reading(
            power_mw=round(1e3 * one.power_w * (1 + one.noise.gauss(0, NOISE_SHARE))),
            power_avg_mw=round(1e3 * one.average_w * (1 + one.noise.gauss(0, NOISE_SHARE / 3))),
            energy_mj=round(1e3 * one.shown_j),
            sm_mhz=15 * round(model.sm_mhz * share / 15),
            mem_mhz=model.mem_mhz,
            temp_c=round(30 + 35 * one.power_w / model.max_w),
            power_state=self.state,
            slowdown=SOFTWARE_POWER_CAP if throttled else GPU_IDLE if load < 0.01 else 0,
            util_pct=round(100 * load),
            cap_mw=round(1e3 * self._cap_w),
        )

    def readback(self, uuid: str, own_pids: frozenset[int]) -> Readback:
        max_mw, cap_mw = round(1e3 * self._model.max_w), round(1e3 * self._cap_w)
        return Readback(
            min_mw=round(max_mw * MIN_CAP_SHARE),
            max_mw=max_mw,
            default_mw=max_mw,
            requested_mw=cap_mw,
            enforced_mw=cap_mw,
            foreign_processes=0,
            mig=False,
            ecc_uncorrected=0,
            ecc_corrected=0,
        )

    def set_cap(self, uuid: str, cap_mw: int) -> None:
        raise MeterError(f"{uuid}: this meter sets no power limit")

    def set_state(self, uuid: str, state: str) -> None:
        raise MeterError(f"{uuid}: this meter sets no power state")

    def close(self) -> None:
        pass
