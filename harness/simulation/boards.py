"""Simulated accelerators: boards whose power, clock, energy counter and throughput follow a cap,
with optional faults.

A board does simulated work with the throughput and the power of a model that is fitted to published
figures (`harness/simulation/throughput_model.py`), and of a made-up one for image models
(`harness/simulation/inference_model.py`). If a run computes on the CPU instead, the boards
of its workers follow the load of the node's CPUs (share of busy time in /proc/stat). A board with a
resident model and no batch draws a little more than one without a worker. Power approaches its
target with a lag, and readings have noise. The energy counter integrates the power without noise
and is updated every 100 ms, as on Hopper boards. The clock falls with the cube root of the power
below the cap, because dynamic power rises with frequency times the square of the voltage. A locked
clock acts as the cap at which the clock of the board falls to it.

`harness/simulation/board_models.py` has the models and the faults.
"""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from harness.errors import MeterError
from harness.simulation.board_models import parse_argument
from harness.simulation.board_state import (
    COUNTER_START_J,
    Activity,
    BoardState,
    OperatingPoint,
    Work,
)
from harness.simulation.cpu_load import BusyShare
from harness.simulation.inference_model import ImageLoad, InferenceCurve
from harness.simulation.sensor import SENSOR_SETTINGS, FilteredSensor
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
CLOCK_STEP_MHZ = 15
SENTINEL_MW = 65_535_000  # 0xFFFF W, which drivers report for "not available"
MINUTE_S = 60.0


class Boards:
    """Eight boards of one model. Clients may call the methods in `METHODS`."""

    METHODS = (
        *("devices", "read", "readback", "set_cap", "set_state"),
        *("list_sm_clocks", "lock_sm_clock", "reset_sm_clock"),
        *("set_activity", "work", "infer", "rate", "node", "buffer"),
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
            f"SIM-{model.name}-{i}": BoardState(
                model.max_w, model.states[0], model.idle_w, model.idle_w, self._start_ns
            )
            for i in range(COUNT)
        }
        settings = {name: self._faults[name] for name in SENSOR_SETTINGS if name in self._faults}
        if settings:
            for board in self._boards.values():
                board.sensor = FilteredSensor(
                    settings, self._start_ns, board.energy_j, board.power_w, NOISE_SHARE
                )

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
            {
                **{"uuid": uuid, "name": name, "vendor": "simulated"},
                **{"memory_bytes": MEMORY_BYTES, "max_power_w": max_w},
            }
            for uuid in self._boards
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
        if not self._has_begun("freeze-counter", board, now_ns):
            if board.sensor is not None:
                board.counter_j = board.sensor.counter_j
            elif now_ns // COUNTER_REFRESH_NS > board.counter_ns // COUNTER_REFRESH_NS:
                board.counter_j, board.counter_ns = board.energy_j, now_ns
        clock_share = max(0.0, (point.power_w - self.model.idle_w) / self._free_w) ** (1 / 3)
        if not point.slowdown & (SOFTWARE_POWER_CAP | THERMAL_SLOWDOWN):
            clock_share = 1.0
        sm_mhz = CLOCK_STEP_MHZ * round(self.model.sm_mhz * min(1.0, clock_share) / CLOCK_STEP_MHZ)
        drift_factor = math.exp(
            -self._faults.get("drift", 0.0) / 100 * self._get_work_s(board, now_ns) / MINUTE_S
        )
        power_w = (
            board.sensor.power_w
            if board.sensor is not None
            else board.power_w * (1 + board.noise.gauss(0, NOISE_SHARE))
        )
        average_mw = (
            1e3 * board.average_w * drift_factor * (1 + board.noise.gauss(0, NOISE_SHARE / 3))
        )
        return asdict(
            Reading(
                power_mw=round(1e3 * power_w * drift_factor),
                power_avg_mw=SENTINEL_MW
                if self._is_affected("sentinel", board)
                else round(average_mw),
                energy_mj=round(1e3 * board.counter_j),
                sm_mhz=min(sm_mhz, board.locked_mhz or sm_mhz),
                mem_mhz=self.model.mem_mhz,
                temp_c=round(30 + 35 * board.power_w / self.model.max_w),
                power_state=self._get_state(board, now_ns),
                slowdown=point.slowdown,
                util_pct=round(100 * point.load),
                cap_mw=round(1e3 * board.cap_w),
            )
        )

    def buffer(self, uuid: str, after_ns: int, at_ns: int) -> list[tuple[int, int]]:
        """Return the kept readings of a board with a declared sensor that are later than
        `after_ns`, each with its time in ns and the power in mW."""
        board = self._get_board(uuid)
        if board.sensor is None:
            return []
        now_ns = max(at_ns, board.last_ns)
        self._advance(board, self._compute_operating_point(board, now_ns), now_ns)
        readings = board.sensor.read_buffer(after_ns, now_ns)
        return [(time_ns, round(1e3 * power_w)) for time_ns, power_w in readings]

    def readback(self, uuid: str) -> Json:
        """Return the fields of `Readback`, all None for a board that has vanished."""
        board = self._get_board(uuid)
        if self._has_begun("vanish", board, self._clock()):
            return {}
        cap_mw = round(1e3 * board.cap_w)
        max_mw = round(1e3 * self.model.max_w)
        return {
            **{"min_mw": round(1e3 * self.model.min_w), "max_mw": max_mw, "default_mw": max_mw},
            **{"requested_mw": cap_mw, "enforced_mw": cap_mw, "foreign_processes": 0},
            **{"mig": False, "ecc_uncorrected": 0, "ecc_corrected": 0},
        }

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

    def list_sm_clocks(self, uuid: str) -> list[int]:
        """Return the SM clocks in MHz to which a board can be locked."""
        self._get_responding_board(uuid)
        from_mhz, until_mhz = self.model.locked_from_mhz, self.model.sm_mhz
        return [] if from_mhz is None else list(range(from_mhz, until_mhz + 1, CLOCK_STEP_MHZ))

    def lock_sm_clock(self, uuid: str, sm_mhz: int) -> None:
        """Accept an SM clock that `list_sm_clocks` returns."""
        board = self._get_responding_board(uuid)
        if sm_mhz not in self.list_sm_clocks(uuid):
            raise MeterError(f"{uuid}: the SM clock cannot be locked at {sm_mhz} MHz")
        self._catch_up(board)
        board.locked_mhz = sm_mhz

    def reset_sm_clock(self, uuid: str) -> None:
        """Remove the lock of a board."""
        board = self._get_responding_board(uuid)
        self._catch_up(board)
        board.locked_mhz = None

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

    def _get_board(self, uuid: str) -> BoardState:
        if uuid not in self._boards:
            raise MeterError(
                f"there is no simulated board {uuid}; there are {', '.join(self._boards)}"
            )
        return self._boards[uuid]

    def _get_responding_board(self, uuid: str) -> BoardState:
        board = self._get_board(uuid)
        if self._has_begun("vanish", board, self._clock()):
            raise MeterError(f"{uuid} does not answer: it has left the bus")
        return board

    def _set_work(self, board: BoardState, work: Work | None) -> None:
        self._catch_up(board)
        board.work = work
        board.activity = Activity.IDLE if work is None else Activity.COMPUTING
        if work is not None and board.work_since_ns is None:
            board.work_since_ns = board.last_ns

    def _compute_operating_point(self, board: BoardState, now_ns: int) -> OperatingPoint:
        """Return the operating point: from the fitted model during simulated work, otherwise from
        the load of the CPUs if a worker computes on them."""
        model, cap_w = self.model, max(board.cap_w, self._faults.get("disobey", 0.0))
        clock_cap_w = self._compute_clock_cap_w(board)
        limit_w, is_below_lock = min(cap_w, clock_cap_w), cap_w < clock_cap_w
        thermal_bits = THERMAL_SLOWDOWN if self._has_begun("throttle", board, now_ns) else 0
        slow_factor = (
            SLOW_SHARE if thermal_bits or self._get_state(board, now_ns) != model.states[0] else 1.0
        )
        is_computing = board.activity is Activity.COMPUTING
        if board.work is not None and is_computing:
            power_w = model.idle_w + slow_factor * (
                board.work.compute_power_w(limit_w) * (1 - NOISE_SHARE) - model.idle_w
            )
            return OperatingPoint(
                power_w,
                slow_factor * board.work.compute_items_per_s(limit_w),
                thermal_bits
                | (SOFTWARE_POWER_CAP if is_below_lock and board.work.is_capped(cap_w) else 0),
                1.0,
            )
        load = min(1.0, max(0.0, self._load())) if is_computing else 0.0
        base_w = model.idle_w + (0.0 if board.activity is Activity.IDLE else RESIDENT_W)
        demand_w = base_w + slow_factor * load * (model.max_w * DEMAND_SHARE - base_w)
        power_w = min(demand_w, max(base_w, limit_w * (1 - NOISE_SHARE)))
        is_capped = is_below_lock and demand_w > power_w
        slowdown = SOFTWARE_POWER_CAP if is_capped else GPU_IDLE if load < 0.01 else 0
        return OperatingPoint(power_w, 0.0, thermal_bits | slowdown, load)

    @property
    def _free_w(self) -> float:
        """Power above idle at the highest clock under full load."""
        return self.model.max_w * DEMAND_SHARE - self.model.idle_w

    def _compute_clock_cap_w(self, board: BoardState) -> float:
        """Return the cap at which the clock of the board is the locked one."""
        if board.locked_mhz is None:
            return math.inf
        return self.model.idle_w + self._free_w * (board.locked_mhz / self.model.sm_mhz) ** 3

    def _catch_up(self, board: BoardState) -> None:
        """Advance a board to now, before a setting changes."""
        now_ns = max(self._clock(), board.last_ns)
        self._advance(board, self._compute_operating_point(board, now_ns), now_ns)

    def _advance(self, board: BoardState, point: OperatingPoint, now_ns: int) -> None:
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
        if board.sensor is not None:
            board.sensor.advance(now_ns, board.energy_j)

    def _get_state(self, board: BoardState, now_ns: int) -> str:
        return self.model.states[1] if self._has_begun("slow-state", board, now_ns) else board.state

    def _get_work_s(self, board: BoardState, now_ns: int) -> float:
        """Return the seconds since simulated work first began, 0 before."""
        return 0.0 if board.work_since_ns is None else (now_ns - board.work_since_ns) / 1e9

    def _has_begun(self, fault: str, board: BoardState, now_ns: int) -> bool:
        delay_s = self._faults.get(fault)
        return (
            delay_s is not None
            and board.work_since_ns is not None
            and self._get_work_s(board, now_ns) >= delay_s
        )

    def _is_affected(self, fault: str, board: BoardState) -> bool:
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
