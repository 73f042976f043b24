"""Simulated accelerators: boards whose power, clock, energy counter and throughput follow a cap,
with optional faults.

A board does simulated work with the throughput and the power of a model that is fitted to published
figures (`harness/simulation/throughput_model.py`), and of a made-up one for image models
(`harness/simulation/inference_model.py`). If a run computes on the CPU instead, the boards
of its workers follow the load of the node's CPUs (share of busy time in /proc/stat). A board with a
resident model and no batch draws a little more than one without a worker. Power approaches its
target with a lag, and readings have noise. The energy counter integrates the power without noise
and is updated every 100 ms, as on Hopper boards. The clock falls with the cube root of the power
below the cap, because dynamic power rises with frequency times the square of the voltage.

`harness/simulation/board_models.py` has the models and the faults.
"""

import math
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from harness.power.source import Device, MeterError, Readback
from harness.simulation.board_models import parse_argument
from harness.simulation.cpu_load import BusyShare
from harness.simulation.inference_model import ImageLoad, InferenceCurve
from harness.simulation.throughput_model import find_curve, load_fit
from rules.boards import SIMULATED_PREFIX
from rules.bundle_format.records import Json, Reading

COUNT = 8
LAG_S = 0.05
AVERAGING_S = 1.0
COUNTER_REFRESH_NS = 100_000_000
NOISE_SHARE = 0.005
RESIDENT_W = 44.5
"""Power above idle of a board with a resident model and no batch: 126.1 W instead of 81.6 W on an
H200 with ResNet-50. The same is assumed of the other models of boards."""
DEMAND_SHARE = 1.1
"""Power of a board under full load without a cap, as a share of its highest cap."""
SLOW_SHARE = 0.6
"""Share of the throughput, and of the power above idle, in the slower power state and under thermal
slowdown."""
MEMORY_BYTES = 16 * 2**30
GPU_IDLE, SOFTWARE_POWER_CAP, THERMAL_SLOWDOWN = 0x1, 0x4, 0x20  # bits of NVML
SENTINEL_MW = 65_535_000  # 0xFFFF W, which drivers report for "not available"
MINUTE_S = 60.0
COUNTER_START_J = 1e6  # a real counter started when the driver was loaded, long before the run


class Work(Protocol):
    """Simulated work: throughput and power of a board at a power cap."""

    def compute_items_per_s(self, cap_w: float) -> float: ...

    def compute_power_w(self, cap_w: float) -> float: ...

    def is_capped(self, cap_w: float) -> bool:
        """Whether the cap lowers the throughput."""
        ...


class Activity(StrEnum):
    """What the worker of a board does."""

    IDLE = "idle"
    """The board has no worker, or one that has not built its model."""
    RESIDENT = "resident"
    """The model is on the board, and no batch runs."""
    COMPUTING = "computing"


@dataclass
class _Board:
    """The variable state of a board."""

    cap_w: float
    state: str
    power_w: float
    average_w: float
    last_ns: int
    energy_j: float = COUNTER_START_J
    counter_j: float = COUNTER_START_J
    counter_ns: int = 0
    activity: Activity = Activity.IDLE
    work: Work | None = None
    work_since_ns: int | None = None
    """When simulated work began for the first time."""
    fault_percent: dict[str, float] = field(default_factory=dict)
    """For each fault that affects a share of the readings: the sum of its % since the last affected
    reading."""
    noise: random.Random = field(default_factory=random.Random)


@dataclass(frozen=True)
class _OperatingPoint:
    """The state that a board approaches at an instant."""

    power_w: float
    items_per_s: float
    slowdown: int
    """Bits of NVML."""
    load: float
    """0 to 1."""


class Boards:
    """Eight boards of one model. Clients may call the methods in `METHODS`."""

    METHODS = (
        *("devices", "read", "readback", "set_cap", "set_state"),
        *("set_activity", "work", "infer", "rate", "node"),
    )

    def __init__(
        self,
        argument: str,
        load: Callable[[], float] | None = None,
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self.argument = argument
        self.model, self._faults = parse_argument(argument)
        self._load, self._clock = load or BusyShare(), clock
        model = self.model
        self._start_ns = clock()
        self._boards = {
            f"SIM-{model.name}-{i}": _Board(
                model.max_w, model.states[0], model.idle_w, model.idle_w, self._start_ns
            )
            for i in range(COUNT)
        }

    def answer(self, method: str, arguments: Mapping[str, Any]) -> Any:
        """Call a method of `METHODS` for a client. Raises MeterError."""
        if method not in self.METHODS:
            raise MeterError(
                f"simulated accelerators have no method {method!r}; they have "
                f"{', '.join(self.METHODS)}"
            )
        return getattr(self, method)(**arguments)

    def devices(self) -> Json:
        """Return the argument, the first power state, and the fields of `Device` of each board."""
        name, max_w = SIMULATED_PREFIX + self.model.name, self.model.max_w
        devices = [
            asdict(Device(u, name, "simulated", MEMORY_BYTES, max_power_w=max_w))
            for u in self._boards
        ]
        return {"argument": self.argument, "state": self.model.states[0], "devices": devices}

    def read(self, uuid: str, at_ns: int) -> Json:
        """Return the fields of `Reading` at the time `at_ns` of the node's monotonic clock.

        The client gives the time of its request, so the reading is right even if a busy machine
        answers late.
        """
        board = self._get_board(uuid)
        # Requests of several clients can arrive out of order. The state of a board only advances.
        now_ns = max(at_ns, board.last_ns)
        point = self._compute_operating_point(board, now_ns)
        self._advance(board, point, now_ns)
        if self._has_begun("vanish", board, now_ns):
            return asdict(Reading(status=f"{uuid} does not answer: it has left the bus"))
        if self._is_affected("drop", board):
            return asdict(Reading(status="power_mw: timeout"))
        if (
            now_ns // COUNTER_REFRESH_NS > board.counter_ns // COUNTER_REFRESH_NS
            and not self._has_begun("freeze-counter", board, now_ns)
        ):
            board.counter_j, board.counter_ns = board.energy_j, now_ns
        free_w = self.model.max_w * DEMAND_SHARE - self.model.idle_w
        clock_share = max(0.0, (point.power_w - self.model.idle_w) / free_w) ** (1 / 3)
        if not point.slowdown & (SOFTWARE_POWER_CAP | THERMAL_SLOWDOWN):
            clock_share = 1.0
        drift_factor = math.exp(
            -self._faults.get("drift", 0.0) / 100 * self._get_work_s(board, now_ns) / MINUTE_S
        )
        average_mw = (
            1e3 * board.average_w * drift_factor * (1 + board.noise.gauss(0, NOISE_SHARE / 3))
        )
        return asdict(
            Reading(
                power_mw=round(
                    1e3 * board.power_w * drift_factor * (1 + board.noise.gauss(0, NOISE_SHARE))
                ),
                power_avg_mw=SENTINEL_MW
                if self._is_affected("sentinel", board)
                else round(average_mw),
                energy_mj=round(1e3 * board.counter_j),
                sm_mhz=15 * round(self.model.sm_mhz * min(1.0, clock_share) / 15),
                mem_mhz=self.model.mem_mhz,
                temp_c=round(30 + 35 * board.power_w / self.model.max_w),
                power_state=self._get_state(board, now_ns),
                slowdown=point.slowdown,
                util_pct=round(100 * point.load),
                cap_mw=round(1e3 * board.cap_w),
            )
        )

    def readback(self, uuid: str) -> Json:
        """Return the fields of `Readback`, all None for a board that has vanished."""
        board = self._get_board(uuid)
        if self._has_begun("vanish", board, self._clock()):
            return asdict(Readback())
        cap_mw = round(1e3 * board.cap_w)
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
        """Accept a cap within the limits. With the fault `disobey` it is not enforced."""
        board, model = self._get_responding_board(uuid), self.model
        if not model.min_w <= cap_mw / 1e3 <= model.max_w:
            raise MeterError(
                f"{uuid}: a cap of {cap_mw / 1e3:g} W is refused; the board takes {model.min_w:g} "
                f"to {model.max_w:g} W"
            )
        self._catch_up(board)
        board.cap_w = cap_mw / 1e3

    def set_state(self, uuid: str, state: str) -> None:
        """Accept a power state of the model."""
        board = self._get_responding_board(uuid)
        if state not in self.model.states:
            raise MeterError(
                f"{uuid}: there is no power state {state!r}; there are "
                f"{', '.join(self.model.states)}"
            )
        self._catch_up(board)
        board.state = state

    def set_activity(self, uuid: str, activity: str) -> None:
        """Accept what the worker of a board does: one of `Activity`."""
        board = self._get_responding_board(uuid)
        self._catch_up(board)
        board.activity = Activity(activity)

    def work(self, uuid: str, workload: str | None) -> str:
        """Start simulated work on a board, or end it with None. Returns the name of the fit."""
        board = self._get_responding_board(uuid)
        self._set_work(board, None if workload is None else find_curve(self.model.name, workload))
        return load_fit().name

    def infer(self, uuid: str, load: Json) -> None:
        """Start simulated inference of an image model on a board. `load` has the fields of
        `ImageLoad`. `work` ends it."""
        board = self._get_responding_board(uuid)
        self._set_work(board, InferenceCurve(self.model, ImageLoad(**load)))

    def rate(self, uuid: str) -> float:
        """Return the current throughput of the work on a board, in items/s."""
        board = self._get_responding_board(uuid)
        if board.work is None:
            raise MeterError(f"{uuid}: no work runs on this board")
        return self._compute_operating_point(board, self._clock()).items_per_s

    def node(self, at_ns: int) -> Json:
        """Return the true power of all boards together in W, without noise and faults of readings,
        and their energy in J since the simulator started `elapsed_s` ago."""
        for board in self._boards.values():
            now_ns = max(at_ns, board.last_ns)
            self._advance(board, self._compute_operating_point(board, now_ns), now_ns)
        boards = self._boards.values()
        return {
            "power_w": sum(board.power_w for board in boards),
            "energy_j": sum(board.energy_j - COUNTER_START_J for board in boards),
            "elapsed_s": (max(board.last_ns for board in boards) - self._start_ns) / 1e9,
        }

    def _get_board(self, uuid: str) -> _Board:
        if uuid not in self._boards:
            raise MeterError(
                f"there is no simulated board {uuid}; there are {', '.join(self._boards)}"
            )
        return self._boards[uuid]

    def _get_responding_board(self, uuid: str) -> _Board:
        board = self._get_board(uuid)
        if self._has_begun("vanish", board, self._clock()):
            raise MeterError(f"{uuid} does not answer: it has left the bus")
        return board

    def _set_work(self, board: _Board, work: Work | None) -> None:
        self._catch_up(board)
        board.work = work
        board.activity = Activity.IDLE if work is None else Activity.COMPUTING
        if work is not None and board.work_since_ns is None:
            board.work_since_ns = board.last_ns

    def _compute_operating_point(self, board: _Board, now_ns: int) -> _OperatingPoint:
        """Return the operating point: from the fitted model during simulated work, otherwise from
        the load of the CPUs if a worker computes on them."""
        model, cap_w = self.model, max(board.cap_w, self._faults.get("disobey", 0.0))
        thermal_bits = THERMAL_SLOWDOWN if self._has_begun("throttle", board, now_ns) else 0
        slow_factor = (
            SLOW_SHARE if thermal_bits or self._get_state(board, now_ns) != model.states[0] else 1.0
        )
        is_computing = board.activity is Activity.COMPUTING
        if board.work is not None and is_computing:
            power_w = model.idle_w + slow_factor * (
                board.work.compute_power_w(cap_w) * (1 - NOISE_SHARE) - model.idle_w
            )
            return _OperatingPoint(
                power_w,
                slow_factor * board.work.compute_items_per_s(cap_w),
                thermal_bits | (SOFTWARE_POWER_CAP if board.work.is_capped(cap_w) else 0),
                1.0,
            )
        load = min(1.0, max(0.0, self._load())) if is_computing else 0.0
        base_w = model.idle_w + (0.0 if board.activity is Activity.IDLE else RESIDENT_W)
        demand_w = base_w + slow_factor * load * (model.max_w * DEMAND_SHARE - base_w)
        power_w = min(demand_w, max(base_w, cap_w * (1 - NOISE_SHARE)))
        slowdown = SOFTWARE_POWER_CAP if demand_w > power_w else GPU_IDLE if load < 0.01 else 0
        return _OperatingPoint(power_w, 0.0, thermal_bits | slowdown, load)

    def _catch_up(self, board: _Board) -> None:
        """Advance a board to now, before a setting changes."""
        now_ns = max(self._clock(), board.last_ns)
        self._advance(board, self._compute_operating_point(board, now_ns), now_ns)

    def _advance(self, board: _Board, point: _OperatingPoint, now_ns: int) -> None:
        """Advance a board to `now_ns`, with the operating point constant since its last update."""
        elapsed_s = (now_ns - board.last_ns) / 1e9
        remaining_share = math.exp(-elapsed_s / LAG_S)
        previous_power_w, board.power_w = (
            board.power_w,
            point.power_w + (board.power_w - point.power_w) * remaining_share,
        )
        sign = -1 if self._has_begun("backward-counter", board, now_ns) else 1
        board.energy_j += sign * (
            elapsed_s * point.power_w
            + LAG_S * (1 - remaining_share) * (previous_power_w - point.power_w)
        )
        board.average_w += (board.power_w - board.average_w) * (
            1 - math.exp(-elapsed_s / AVERAGING_S)
        )
        board.last_ns = now_ns

    def _get_state(self, board: _Board, now_ns: int) -> str:
        return self.model.states[1] if self._has_begun("slow-state", board, now_ns) else board.state

    def _get_work_s(self, board: _Board, now_ns: int) -> float:
        """Return the seconds since simulated work first began, 0 before."""
        return 0.0 if board.work_since_ns is None else (now_ns - board.work_since_ns) / 1e9

    def _has_begun(self, fault: str, board: _Board, now_ns: int) -> bool:
        delay_s = self._faults.get(fault)
        return (
            delay_s is not None
            and board.work_since_ns is not None
            and self._get_work_s(board, now_ns) >= delay_s
        )

    def _is_affected(self, fault: str, board: _Board) -> bool:
        """Return whether this reading has a fault that affects a share of the readings, evenly
        spread."""
        if board.work is None or fault not in self._faults:
            return False
        board.fault_percent[fault] = board.fault_percent.get(fault, 0.0) + self._faults[fault]
        # The remainder is kept, so that the share is exact over many readings.
        if board.fault_percent[fault] < 100:
            return False
        board.fault_percent[fault] -= 100
        return True
