"""Properties of accelerator boards from the vendors' data sheets: dense peak rates, highest power
limit and memory.

Peak rates come only from here, never from a bundle.

Sources: NVIDIA H100 Tensor Core GPU data sheet (SXM), NVIDIA H200 Tensor Core GPU data sheet (SXM),
NVIDIA A100 80GB data sheet (SXM), NVIDIA A100 40GB PCIe product brief, NVIDIA H100 PCIe product
brief, AMD Instinct MI300X data sheet. The NVIDIA sheets give tensor rates with sparsity. The dense
rates are half of these.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True)
class Board:
    """One board model."""

    id: str
    vendor: str
    names: tuple[str, ...]
    """The names that the vendor's library reports for it."""
    peak_tflops: Mapping[str, float]
    """Dense peak rates in TFLOP/s by precision. A multiply-add counts as two."""
    max_power_w: float
    """The highest power limit that can be set."""
    idle_power_w: float
    """A lower bound of the power of a working board: even an idle one draws more."""
    memory_tb_per_s: float
    """Memory bandwidth."""
    memory_gib: float
    boost_mhz: int
    """The highest clock of the compute units."""
    instant: bool
    """Whether the driver is known to report instantaneous power as well as the average over 1 s."""

    def highest_peak_tflops(self, precision: str) -> float | None:
        """The dense peak rate of a precision of a run or a study; None if the board has no such
        rate. PyTorch's default computes convolutions in TF32, the faster of its two precisions."""
        return self.peak_tflops.get("tf32" if precision == "tf32-conv" else precision)


_HOPPER = {"fp64": 66.9, "fp32": 66.9, "tf32": 494.7, "bf16": 989.4, "fp16": 989.4, "fp8": 1978.9}
_H100_PCIE = {
    "fp64": 51.2,
    "fp32": 51.2,
    "tf32": 378.0,
    "bf16": 756.0,
    "fp16": 756.0,
    "fp8": 1513.0,
}
_MI300X = {
    "fp64": 163.4,
    "fp32": 163.4,
    "tf32": 653.7,
    "bf16": 1307.4,
    "fp16": 1307.4,
    "fp8": 2614.9,
}
_A100 = {"fp64": 19.5, "fp32": 19.5, "tf32": 156.0, "bf16": 312.0, "fp16": 312.0}

BOARDS = (
    Board("H200", "NVIDIA", ("NVIDIA H200",), _HOPPER, 700, 40, 4.8, 141, 1980, True),
    Board("H100", "NVIDIA", ("NVIDIA H100 80GB HBM3",), _HOPPER, 700, 40, 3.35, 80, 1980, True),
    Board("A100", "NVIDIA", ("NVIDIA A100-SXM4-80GB",), _A100, 400, 30, 2.039, 80, 1410, False),
    Board("H100 PCIe", "NVIDIA", ("NVIDIA H100 PCIe",), _H100_PCIE, 350, 30, 2.0, 80, 1755, True),
    Board(
        "A100 PCIe 40GB",
        "NVIDIA",
        ("NVIDIA A100-PCIE-40GB",),
        _A100,
        250,
        25,
        1.555,
        40,
        1410,
        False,
    ),
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
    """Return the board with this reported name like `find_board`, but None for a simulated one."""
    return None if name.startswith(SIMULATED_PREFIX) else find_board(name)


@lru_cache(maxsize=1024)
def find_board(name: str) -> Board | None:
    """Return the board with the reported name `name`, None if the rule book does not have it. For
    a simulated board it is the board that is simulated."""
    model = name.removeprefix(SIMULATED_PREFIX)
    return next((b for b in BOARDS if model == b.id or model in b.names), None)


def highest_power_w(name: str, declared_w: float | None) -> float:
    """Return the highest power limit, in W, of the board with this name. For a board that is not in
    the rule book it is `declared_w`, or NaN if that is None."""
    board = find_board(name)
    max_w = board.max_power_w if board else declared_w
    return math.nan if max_w is None else float(max_w)
