"""Facts about accelerator boards from their makers' data sheets: dense peaks, the highest power a
board may be set to, memory.

The peaks are the rule book's alone: no bundle declares one.

Sources: NVIDIA H100 Tensor Core GPU data sheet (SXM), NVIDIA H200 Tensor Core GPU data sheet (SXM),
NVIDIA A100 80GB data sheet (SXM), AMD Instinct MI300X data sheet. The NVIDIA sheets print tensor
rates *with sparsity*; dense is half of that.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True)
class Board:
    """One board. Peaks are dense, in TFLOP/s (a multiply-add counts as two), by precision; power in
    W, bandwidth in TB/s."""

    id: str
    vendor: str
    names: tuple[str, ...]
    """Names under which the vendor's library reports it."""
    peak_tflops: Mapping[str, float]
    max_power_w: float
    idle_power_w: float
    """Below this no working board of the kind draws power, idle or not."""
    memory_tb_per_s: float
    memory_gib: float
    boost_mhz: int
    """The highest clock of its compute units."""
    instant: bool
    """Whether it is known that its driver gives the power of an instant beside that of a second."""


_HOPPER = {"fp32": 66.9, "tf32": 494.7, "bf16": 989.4, "fp16": 989.4, "fp8": 1978.9}
_MI300X = {"fp32": 163.4, "tf32": 653.7, "bf16": 1307.4, "fp16": 1307.4, "fp8": 2614.9}
_A100 = {"fp32": 19.5, "tf32": 156.0, "bf16": 312.0, "fp16": 312.0}

BOARDS = (
    Board("H200", "NVIDIA", ("NVIDIA H200",), _HOPPER, 700, 40, 4.8, 141, 1980, True),
    Board("H100", "NVIDIA", ("NVIDIA H100 80GB HBM3",), _HOPPER, 700, 40, 3.35, 80, 1980, True),
    Board("A100", "NVIDIA", ("NVIDIA A100-SXM4-80GB",), _A100, 400, 30, 2.039, 80, 1410, False),
    Board(
        "MI300X",
        "AMD",
        ("AMD Instinct MI300X", "AMD Instinct MI300X OAM"),
        _MI300X,
        750,
        90,
        5.3,
        192,
        2100,
        True,
    ),
)

SIMULATED_PREFIX = "Simulated "


def real_board(name: str) -> Board | None:
    """The board as `board` finds it, None for a simulated one."""
    return None if name.startswith(SIMULATED_PREFIX) else board(name)


@lru_cache(maxsize=1024)
def board(name: str) -> Board | None:
    """The board that an accelerator's reported name means (simulated ones stand for their model),
    or None."""
    wanted = name.removeprefix(SIMULATED_PREFIX)
    return next((b for b in BOARDS if wanted == b.id or wanted in b.names), None)


def highest_power_w(name: str, declared_w: float | None) -> float:
    """The highest power in W that the board of this name may be set to; `declared_w` for a board
    that is not in the rule book, NaN if that is None."""
    known = board(name)
    max_w = known.max_power_w if known else declared_w
    return math.nan if max_w is None else float(max_w)
