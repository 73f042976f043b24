"""Simulated accelerators: boards whose power, clock, energy counter and throughput follow a cap,
and that can misbehave.

A board does simulated work, at the throughput and the power that published figures were fitted to
(`harness/simulation/throughput_model.py`), or it follows what the node's CPUs are doing (share of
busy time in /proc/stat), where a run computes on the CPU. Power follows its target with a lag and
is read with noise; the counter integrates the power before noise and shows a new value every 100
ms, as Hopper boards do. The clock falls with the cube root of the power that the cap leaves
(dynamic power rises with frequency times the square of the voltage).

Faults are named in the argument, `h200,disobey=400,drop`; docs/simulated.md lists them with the
rule that finds each. All but `disobey` show only while simulated work is on.
"""

import math
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from harness.power.source import Device, MeterError, Readback
from harness.simulation.throughput_model import Curve, fit
from rules.boards import SIMULATED_PREFIX
from rules.bundle_format.records import Json, Reading

COUNT = 8
LAG_S = 0.05
AVERAGING_S = 1.0
COUNTER_REFRESH_NS = 100_000_000
NOISE_SHARE = 0.005
DEMAND_SHARE = (
    1.1  # what a board under full load would draw without a cap, as a share of its highest cap
)
# of the throughput and of the power above idle, in the slower state and under thermal slowdown
SLOW_SHARE = 0.6
MEMORY_BYTES = 16 * 2**30
GPU_IDLE, SOFTWARE_POWER_CAP, THERMAL_SLOWDOWN = 0x1, 0x4, 0x20  # NVML's bits
SENTINEL_MW = 65_535_000
MINUTE_S = 60.0
COUNTER_START_J = 1e6  # a counter counts from when the driver was loaded, which was long ago

FAULTS: Mapping[str, float | None] = {
    "disobey": None,
    "drift": 20.0,
    "drop": 10.0,
    "sentinel": 10.0,
    "freeze-counter": 5.0,
    "backward-counter": 5.0,
    "slow-state": 5.0,
    "throttle": 5.0,
    "vanish": 5.0,
}
"""Each fault with the value that it has where none is given: watts (to be given), % a minute, % of
the readings for two, and for the others seconds of work after which it begins."""


@dataclass(frozen=True)
class Model:
    """The numbers of one simulated board. The first of its power states is the one it starts in,
    the second is slower."""

    name: str
    idle_w: float
    min_w: float
    max_w: float
    sm_mhz: int
    mem_mhz: int
    states: tuple[str, ...]


MODELS = {
    "h100": Model("H100", 75, 200, 700, 1980, 2619, ("P0", "P2")),
    "h200": Model("H200", 78, 200, 700, 1980, 3201, ("P0", "P2")),
    "mi300x": Model("MI300X", 140, 0, 750, 2100, 1300, ("auto", "low")),
}


def parse(argument: str) -> tuple[Model, dict[str, float]]:
    """Model and faults that an argument such as `h200,disobey=400,drop` names. Raises
    MeterError."""
    name, *asked = argument.split(",")
    model = MODELS.get(name)
    if model is None:
        raise MeterError(
            f"there is no simulated accelerator {name!r}; there are {', '.join(MODELS)}"
        )
    faults = {}
    for text in asked:
        fault, _, value = text.partition("=")
        if fault not in FAULTS:
            raise MeterError(
                f"simulated accelerators have no fault {fault!r}; they have {', '.join(FAULTS)}"
            )
        try:
            number = FAULTS[fault] if not value else float(value)
        except ValueError:
            number = None
        if number is None or not 0 <= number < math.inf:
            raise MeterError(
                f"simulated accelerators: {text!r}: give a number, as in "
                f"{fault}={FAULTS[fault] or 400:g}"
            )
        faults[fault] = number
    return model, faults


class BusyShare:
    """Share of time, 0 to 1, that the node's CPUs were busy between two calls; 1 where /proc/stat
    is missing."""

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
    """What changes of one board."""

    cap_w: float
    state: str
    power_w: float
    average_w: float
    last_ns: int
    energy_j: float = COUNTER_START_J
    shown_j: float = COUNTER_START_J
    shown_ns: int = 0
    work: Curve | None = None
    work_since_ns: int | None = None
    """When work came on for the first time."""
    percent: dict[str, float] = field(default_factory=dict)
    """Of faults that some readings have, how much has come together since the last such reading."""
    noise: random.Random = field(default_factory=random.Random)


@dataclass(frozen=True)
class _Pace:
    """What a board does at an instant: the power that it comes to, items/s, slowdown reasons, and
    its load from 0 to 1."""

    power_w: float
    items_per_s: float
    reasons: int
    load: float


class Boards:
    """Eight boards of one model. What clients may ask are the methods in `ASKED`."""

    ASKED = ("devices", "read", "readback", "set_cap", "set_state", "work", "rate")

    def __init__(
        self,
        argument: str,
        load: Callable[[], float] | None = None,
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self.argument = argument
        self.model, self._faults = parse(argument)
        self._load, self._clock = load or BusyShare(), clock
        model = self.model
        self._boards = {
            f"SIM-{model.name}-{i}": _Board(
                model.max_w, model.states[0], model.idle_w, model.idle_w, clock()
            )
            for i in range(COUNT)
        }

    def answer(self, do: str, arguments: Mapping[str, Any]) -> Any:
        """What a client asked for. Raises MeterError."""
        if do not in self.ASKED:
            raise MeterError(
                f"simulated accelerators cannot {do!r}; they can {', '.join(self.ASKED)}"
            )
        return getattr(self, do)(**arguments)

    def devices(self) -> Json:
        """The argument, the state that the boards start in, and the boards as `Device` has them."""
        name, max_w = SIMULATED_PREFIX + self.model.name, self.model.max_w
        found = [
            asdict(Device(u, name, "simulated", MEMORY_BYTES, max_power_w=max_w))
            for u in self._boards
        ]
        return {"argument": self.argument, "state": self.model.states[0], "devices": found}

    def read(self, uuid: str, at_ns: int) -> Json:
        """The reading, as `Reading` has it, of the instant when it was asked for, on the node's
        monotonic clock: so a busy machine, on which the answer takes its time, does not spoil it.
        """
        one = self._board(uuid)
        now_ns = max(at_ns, one.last_ns)
        pace = self._pace(one, now_ns)
        self._advance(one, pace, now_ns)
        if self._began("vanish", one, now_ns):
            return asdict(Reading(status=f"{uuid} does not answer: it has left the bus"))
        if self._happens("drop", one):
            return asdict(Reading(status="power_mw: timeout"))
        if now_ns // COUNTER_REFRESH_NS > one.shown_ns // COUNTER_REFRESH_NS and not self._began(
            "freeze-counter", one, now_ns
        ):
            one.shown_j, one.shown_ns = one.energy_j, now_ns
        free_w = self.model.max_w * DEMAND_SHARE - self.model.idle_w
        clock_share = max(0.0, (pace.power_w - self.model.idle_w) / free_w) ** (1 / 3)
        if not pace.reasons & (SOFTWARE_POWER_CAP | THERMAL_SLOWDOWN):
            clock_share = 1.0
        drift = math.exp(
            -self._faults.get("drift", 0.0) / 100 * self._worked_s(one, now_ns) / MINUTE_S
        )
        average_mw = 1e3 * one.average_w * drift * (1 + one.noise.gauss(0, NOISE_SHARE / 3))
        return asdict(
            Reading(
                power_mw=round(1e3 * one.power_w * drift * (1 + one.noise.gauss(0, NOISE_SHARE))),
                power_avg_mw=SENTINEL_MW if self._happens("sentinel", one) else round(average_mw),
                energy_mj=round(1e3 * one.shown_j),
                sm_mhz=15 * round(self.model.sm_mhz * min(1.0, clock_share) / 15),
                mem_mhz=self.model.mem_mhz,
                temp_c=round(30 + 35 * one.power_w / self.model.max_w),
                power_state=self._state(one, now_ns),
                slowdown=pace.reasons,
                util_pct=round(100 * pace.load),
                cap_mw=round(1e3 * one.cap_w),
            )
        )

    def readback(self, uuid: str) -> Json:
        """Limits and state, as `Readback` has them; nothing is known of a board that has
        vanished."""
        one = self._board(uuid)
        if self._began("vanish", one, self._clock()):
            return asdict(Readback())
        cap_mw = round(1e3 * one.cap_w)
        return asdict(
            Readback(
                min_mw=round(1e3 * self.model.min_w),
                max_mw=round(1e3 * self.model.max_w),
                default_mw=round(1e3 * self.model.max_w),
                requested_mw=cap_mw,
                enforced_mw=cap_mw,
                foreign_processes=0,
                mig=False,
                ecc_uncorrected=0,
                ecc_corrected=0,
            )
        )

    def set_cap(self, uuid: str, cap_mw: int) -> None:
        """Take a cap within the limits, whether or not it will be enforced."""
        one, model = self._present(uuid), self.model
        if not model.min_w <= cap_mw / 1e3 <= model.max_w:
            raise MeterError(
                f"{uuid}: a cap of {cap_mw / 1e3:g} W is refused; it takes {model.min_w:g} "
                f"to {model.max_w:g} W"
            )
        self._catch_up(one)
        one.cap_w = cap_mw / 1e3

    def set_state(self, uuid: str, state: str) -> None:
        """Take a power state that the board has."""
        one = self._present(uuid)
        if state not in self.model.states:
            raise MeterError(
                f"{uuid}: there is no power state {state!r}; there are "
                f"{', '.join(self.model.states)}"
            )
        self._catch_up(one)
        one.state = state

    def work(self, uuid: str, workload: str | None) -> str:
        """Put simulated work on a board, or with None take it off; the name of the fit that it
        follows."""
        one = self._present(uuid)
        found = fit()
        curve = None if workload is None else found.curves.get((self.model.name, workload))
        if workload is not None and curve is None:
            known = sorted(w for board, w in found.curves if board == self.model.name)
            raise MeterError(
                f"no figures are published of {workload} on {self.model.name}; there are "
                f"{', '.join(known)}"
            )
        self._catch_up(one)
        one.work = curve
        if curve is not None and one.work_since_ns is None:
            one.work_since_ns = one.last_ns
        return found.name

    def rate(self, uuid: str) -> float:
        """Items/s that the work on a board makes now."""
        one = self._present(uuid)
        if one.work is None:
            raise MeterError(f"{uuid}: there is no work on it")
        return self._pace(one, self._clock()).items_per_s

    def _board(self, uuid: str) -> _Board:
        if uuid not in self._boards:
            raise MeterError(
                f"there is no simulated board {uuid}; there are {', '.join(self._boards)}"
            )
        return self._boards[uuid]

    def _present(self, uuid: str) -> _Board:
        one = self._board(uuid)
        if self._began("vanish", one, self._clock()):
            raise MeterError(f"{uuid} does not answer: it has left the bus")
        return one

    def _pace(self, one: _Board, now_ns: int) -> _Pace:
        """Under simulated work the fit says it, else the load of the CPUs does."""
        model, cap_w = self.model, max(one.cap_w, self._faults.get("disobey", 0.0))
        thermal = THERMAL_SLOWDOWN if self._began("throttle", one, now_ns) else 0
        slow = SLOW_SHARE if thermal or self._state(one, now_ns) != model.states[0] else 1.0
        if one.work is not None:
            power_w = model.idle_w + slow * (
                one.work.power_w(cap_w) * (1 - NOISE_SHARE) - model.idle_w
            )
            return _Pace(
                power_w, slow * one.work.items_per_s(cap_w), thermal | SOFTWARE_POWER_CAP, 1.0
            )
        load = min(1.0, max(0.0, self._load()))
        demand_w = model.idle_w + slow * load * (model.max_w * DEMAND_SHARE - model.idle_w)
        power_w = min(demand_w, max(model.idle_w, cap_w * (1 - NOISE_SHARE)))
        reasons = SOFTWARE_POWER_CAP if demand_w > power_w else GPU_IDLE if load < 0.01 else 0
        return _Pace(power_w, 0.0, thermal | reasons, load)

    def _catch_up(self, one: _Board) -> None:
        """Let the time pass until now, before something changes."""
        now_ns = max(self._clock(), one.last_ns)
        self._advance(one, self._pace(one, now_ns), now_ns)

    def _advance(self, one: _Board, pace: _Pace, now_ns: int) -> None:
        """Let the time since the last look pass at a pace."""
        since_s = (now_ns - one.last_ns) / 1e9
        stays = math.exp(-since_s / LAG_S)
        before_w, one.power_w = one.power_w, pace.power_w + (one.power_w - pace.power_w) * stays
        sign = -1 if self._began("backward-counter", one, now_ns) else 1
        one.energy_j += sign * (
            since_s * pace.power_w + LAG_S * (1 - stays) * (before_w - pace.power_w)
        )
        one.average_w += (one.power_w - one.average_w) * (1 - math.exp(-since_s / AVERAGING_S))
        one.last_ns = now_ns

    def _state(self, one: _Board, now_ns: int) -> str:
        return self.model.states[1] if self._began("slow-state", one, now_ns) else one.state

    def _worked_s(self, one: _Board, now_ns: int) -> float:
        """Seconds since work came on for the first time, 0 before."""
        return 0.0 if one.work_since_ns is None else (now_ns - one.work_since_ns) / 1e9

    def _began(self, fault: str, one: _Board, now_ns: int) -> bool:
        after_s = self._faults.get(fault)
        return (
            after_s is not None
            and one.work_since_ns is not None
            and self._worked_s(one, now_ns) >= after_s
        )

    def _happens(self, fault: str, one: _Board) -> bool:
        """Whether a fault of some percent of the readings has its turn, which is evenly spread."""
        if one.work is None or fault not in self._faults:
            return False
        one.percent[fault] = one.percent.get(fault, 0.0) + self._faults[fault]
        if one.percent[fault] < 100:
            return False
        one.percent[fault] -= 100
        return True
