"""Properties of accelerator boards from the vendors' data sheets: dense peak rates, power limits
and memory.

Peak rates come only from here, never from a bundle. NVIDIA's sheets give tensor rates with sparsity
from Ampere on. The dense rates are half of these. Each board names its sources. A property that no
source gives is None.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from rules import board_sheets as sheets

CEILING_FALL_MHZ = 75
"""By how much the ceiling of the clock falls from products of zeros to those of values of which 20
% are not zero: 60 to 75 MHz on H100 and H200 in bf16. With more of them, the cap is the limit."""
CLOCK_TOLERANCE_MHZ = 30
"""A sampled SM clock may differ from a fixed one by so much: two steps of 15 MHz."""

COMPUTE_STATES = ("P0", "P1", "P2")
"""The power states in which NVIDIA's drivers let CUDA compute."""
_DRIVER_CHOOSES_STATE = re.compile(r"\b(GeForce|TITAN|Quadro|RTX)\b", re.IGNORECASE)

_COUNTER_OF_MODULE = re.compile(r"\bGH200\b")


def driver_chooses_state(name: str) -> bool:
    """Whether the driver chooses the power state of CUDA on a board with this name, in most cases
    P2, and nobody can change it. Sources: NVIDIA's answer in
    https://babeltechreviews.com/nvidia-cuda-force-p2-state/, and
    https://forums.developer.nvidia.com/t/remove-p2-forced-state-from-drivers/241998."""
    return _DRIVER_CHOOSES_STATE.search(name) is not None


def counter_covers_module(name: str) -> bool:
    """Whether the energy counter that NVML gives for the board covers the module around it, CPU and
    memory too, while its power is that of the GPU. Source: measurements by the authors of Zeus,
    https://github.com/ml-energy/zeus/pull/172."""
    return _COUNTER_OF_MODULE.search(name) is not None


def expected_state(name: str, state: str | None) -> str | None:
    """The power state that a run on the board declares, where its meter names `state`."""
    return "P2" if state in COMPUTE_STATES and driver_chooses_state(name) else state


@dataclass(frozen=True)
class Board:
    """One board model."""

    id: str
    vendor: str
    names: tuple[str, ...]
    """The names that the vendor's library reports for it. Boards with one name differ in memory.
    Empty: they are not known, and the rules treat the board as unknown."""
    peak_tflops: Mapping[str, float]
    """Dense peak rates in TFLOP/s by precision, on matrix units where the board has them for the
    precision. A multiply-add counts as two. Empty: no source gives them."""
    max_power_w: float | None
    """The highest power limit that can be set."""
    idle_power_w: float | None
    """A lower bound of the power of a working board: even an idle one draws more. Data sheets have
    no such figure: it is a bound of this rule book."""
    memory_tb_per_s: float | None
    """Memory bandwidth."""
    memory_gib: float
    boost_mhz: int | None
    """The highest clock of the compute units."""
    instant: bool
    """Whether the driver is known to report instantaneous power as well as the average over 1 s."""
    memory_type: str
    default_power_w: float | None
    """The power limit of a board that nobody changed."""
    sources: tuple[sheets.Source, ...]
    clock_ceilings_mhz: Mapping[str, int] = field(default_factory=dict)
    """By precision, the SM clock that the driver does not exceed under dense matrix products of
    zeros, far below the power cap; NVML gives the power cap as the reason of it. Empty: not
    measured. Source: measurements with `bench-submit burn --input zeros` or its like
    (docs/measurement.md)."""

    dies: int = 1
    """How many of these boards one card has, with one power reading for all of them. Each board has
    its part of the reading."""

    def lowest_ceiling_mhz(self, precision: str) -> int | None:
        """The lowest clock at which such a ceiling was measured, whatever the inputs are; of all
        precisions if this one was not measured. None if the board was not measured. Only a power
        cap holds the clock below it."""
        if not self.clock_ceilings_mhz:
            return None
        of_zeros_mhz = self.clock_ceilings_mhz.get(precision, min(self.clock_ceilings_mhz.values()))
        return of_zeros_mhz - CEILING_FALL_MHZ - CLOCK_TOLERANCE_MHZ

    def highest_peak_tflops(self, precision: str) -> float | None:
        """The dense peak rate of a precision of a run or a study; None if the board has no such
        rate. PyTorch's default computes convolutions in TF32, the faster of its two precisions."""
        return self.peak_tflops.get("tf32" if precision == "tf32-conv" else precision)


_H200_CEILINGS = {"bf16": 1740, "fp16": 1635, "fp8": 1695, "tf32": 1950}
_H100_CEILINGS = {"bf16": 1650, "fp16": 1560, "fp8": 1605, "tf32": 1815, "fp64": 1965}


# fmt: off
BOARDS = (
    Board("H200", "NVIDIA", ("NVIDIA H200",),
          sheets.HOPPER_PEAKS, 700, 40, 4.8, 141, 1980, True, "HBM3e", 700,
          (sheets.H200,), _H200_CEILINGS),
    Board("H200 NVL", "NVIDIA", ("NVIDIA H200 NVL",),
          sheets.HOPPER_NVL_PEAKS, 600, None, 4.8, 141, None, False, "HBM3e", None, (sheets.H200,)),
    Board("H100", "NVIDIA", ("NVIDIA H100 80GB HBM3",),
          sheets.HOPPER_PEAKS, 700, 40, 3.35, 80, 1980, True, "HBM3", 700,
          (sheets.H100,), _H100_CEILINGS),
    Board("H100 94GB HBM2e", "NVIDIA", ("NVIDIA H100",),
          sheets.HOPPER_PEAKS, 700, None, 2.4, 94, None, False, "HBM2e", 700,
          (sheets.H100, sheets.HELMA, sheets.NVIDIA_NAMES)),
    # The driver gives this board the name of the one above. The memory tells them apart.
    Board("H100 64GB", "NVIDIA", ("NVIDIA H100",),
          sheets.HOPPER_PEAKS, 700, None, None, 64, None, False, "HBM2", 700,
          (sheets.H100, sheets.H100_64GB, sheets.H100_SXM5, sheets.MARENOSTRUM)),
    Board("H100 PCIe", "NVIDIA", ("NVIDIA H100 PCIe",),
          sheets.H100_PCIE_PEAKS, 350, 30, 2.0, 80, 1755, True, "HBM2e", 350,
          (sheets.H100_BRIEF, sheets.H100)),
    Board("H100 NVL", "NVIDIA", ("NVIDIA H100 NVL",),
          sheets.HOPPER_NVL_PEAKS, 400, None, 3.9, 94, None, False, "HBM3", None, (sheets.H100,)),
    Board("H800", "NVIDIA", ("NVIDIA H800",),
          sheets.H800_PEAKS, None, None, 3.35, 80, None, False, "HBM3", None,
          (sheets.H100, sheets.H800, sheets.NVIDIA_NAMES)),
    Board("H800 PCIe", "NVIDIA", ("NVIDIA H800 PCIe",),
          {}, None, None, None, 80, None, False, "HBM2e", None, (sheets.H800, sheets.NVIDIA_NAMES)),
    Board("H20", "NVIDIA", ("NVIDIA H20",),
          sheets.H20_PEAKS, None, None, 4.0, 96, None, False, "HBM3", 400,
          (sheets.H20, sheets.H20_RATES, sheets.NVIDIA_NAMES)),
    Board("GH200", "NVIDIA", ("NVIDIA GH200 480GB", "NVIDIA GH200 120GB"),
          sheets.HOPPER_PEAKS, None, None, 4.0, 96, None, False, "HBM3", None,
          (sheets.GH200, sheets.NVIDIA_NAMES)),
    Board("GH200 144GB", "NVIDIA", ("NVIDIA GH200 144G HBM3e",),
          sheets.HOPPER_PEAKS, None, None, 4.9, 144, None, False, "HBM3e", None,
          (sheets.GH200, sheets.NVIDIA_NAMES)),
    Board("A100", "NVIDIA", ("NVIDIA A100-SXM4-80GB", "A100-SXM-80GB"),
          sheets.AMPERE_PEAKS, 400, 30, 2.039, 80, 1410, False, "HBM2e", 400, (sheets.A100,)),
    Board("A100 40GB", "NVIDIA", ("NVIDIA A100-SXM4-40GB",),
          sheets.AMPERE_PEAKS, 400, 30, 1.555, 40, 1410, False, "HBM2", 400, (sheets.A100,)),
    Board("A100 64GB", "NVIDIA", ("NVIDIA A100-SXM-64GB",),
          sheets.A100_64GB_PEAKS, None, None, 1.64, 64, None, False, "HBM2e", None,
          (sheets.A100_64GB, sheets.NVIDIA_NAMES)),
    Board("A100 PCIe 80GB", "NVIDIA", ("NVIDIA A100 80GB PCIe",),
          sheets.AMPERE_PEAKS, 300, 25, 1.935, 80, 1410, False, "HBM2e", 300, (sheets.A100,)),
    Board("A100 PCIe 40GB", "NVIDIA", ("NVIDIA A100-PCIE-40GB",),
          sheets.AMPERE_PEAKS, 250, 25, 1.555, 40, 1410, False, "HBM2", 250,
          (sheets.A100_BRIEF, sheets.A100)),
    Board("A800", "NVIDIA", ("NVIDIA A800-SXM4-80GB",),
          sheets.AMPERE_PEAKS, 400, None, 2.039, 80, 1410, False, "HBM2e", 400,
          (sheets.A100, sheets.A800, sheets.NVIDIA_NAMES)),
    Board("A800 SXM 40GB", "NVIDIA", ("NVIDIA A800-SXM4-40GB",),
          sheets.AMPERE_PEAKS, 400, None, 1.555, 40, 1410, False, "HBM2", 400,
          (sheets.A100, sheets.A800, sheets.NVIDIA_NAMES)),
    Board("A800 PCIe", "NVIDIA", ("NVIDIA A800 80GB PCIe", "NVIDIA A800 80GB PCIe LC"),
          sheets.AMPERE_PEAKS, 300, None, 1.935, 80, 1410, False, "HBM2e", 300,
          (sheets.A100, sheets.A800, sheets.NVIDIA_NAMES)),
    Board("A800 40GB Active", "NVIDIA", ("NVIDIA A800 40GB Active",),
          sheets.AMPERE_PEAKS, 240, None, 1.555, 40, None, False, "HBM2", 240,
          (sheets.A800_ACTIVE, sheets.NVIDIA_NAMES)),
    Board("A30", "NVIDIA", ("NVIDIA A30",),
          sheets.A30_PEAKS, 165, None, 0.933, 24, 1440, False, "HBM2", 165,
          (sheets.A30, sheets.NVIDIA_NAMES)),
    Board("A10", "NVIDIA", ("NVIDIA A10",),
          sheets.A10_PEAKS, 150, None, 0.6, 24, 1695, False, "GDDR6", 150,
          (sheets.A10, sheets.NVIDIA_NAMES)),
    Board("A10G", "NVIDIA", ("NVIDIA A10G",),
          {}, None, None, 0.6, 24, None, False, "GDDR6", None, (sheets.A10G, sheets.NVIDIA_NAMES)),
    Board("A40", "NVIDIA", ("NVIDIA A40",),
          sheets.A40_PEAKS, 300, None, 0.696, 48, None, False, "GDDR6", 300, (sheets.A40,)),
    Board("L4", "NVIDIA", ("NVIDIA L4",),
          sheets.L4_PEAKS, 72, None, 0.3, 24, 2040, False, "GDDR6", 72,
          (sheets.L4, sheets.ADA, sheets.NVIDIA_NAMES)),
    Board("L40", "NVIDIA", ("NVIDIA L40",),
          sheets.L40_PEAKS, 300, None, 0.864, 48, 2490, False, "GDDR6", 300,
          (sheets.L40, sheets.L40_SUMS, sheets.NVIDIA_NAMES)),
    Board("L40S", "NVIDIA", ("NVIDIA L40S",),
          sheets.L40S_PEAKS, 350, None, 0.864, 48, 2520, False, "GDDR6", 350,
          (sheets.L40S, sheets.L40S_CLOCKS)),
    Board("V100", "NVIDIA", ("Tesla V100-SXM2-32GB",),
          sheets.V100_PEAKS, 300, None, 0.9, 32, 1530, False, "HBM2", 300,
          (sheets.V100, sheets.V100_CLOCKS)),
    Board("V100 16GB", "NVIDIA", ("Tesla V100-SXM2-16GB",),
          sheets.V100_PEAKS, 300, None, 0.9, 16, 1530, False, "HBM2", 300,
          (sheets.V100, sheets.V100_CLOCKS)),
    Board("V100 PCIe 32GB", "NVIDIA", ("Tesla V100-PCIE-32GB",),
          sheets.V100_PCIE_PEAKS, 250, None, 0.9, 32, None, False, "HBM2", 250, (sheets.V100,)),
    Board("V100 PCIe 16GB", "NVIDIA", ("Tesla V100-PCIE-16GB",),
          sheets.V100_PCIE_PEAKS, 250, None, 0.9, 16, None, False, "HBM2", 250, (sheets.V100,)),
    Board("V100 DGXS 32GB", "NVIDIA", ("Tesla V100-DGXS-32GB",),
          sheets.V100_DGXS_PEAKS, None, None, 0.9, 32, None, False, "HBM2", None,
          (sheets.DGX_STATION, sheets.V100)),
    Board("V100 DGXS 16GB", "NVIDIA", ("Tesla V100-DGXS-16GB",),
          sheets.V100_DGXS_PEAKS, None, None, 0.9, 16, None, False, "HBM2", None,
          (sheets.DGX_STATION, sheets.V100)),
    Board("P100", "NVIDIA", ("Tesla P100-SXM2-16GB",),
          sheets.P100_PEAKS, 300, None, 0.732, 16, 1480, False, "HBM2", 300, (sheets.P100,)),
    Board("P100 PCIe 16GB", "NVIDIA", ("Tesla P100-PCIE-16GB",),
          sheets.P100_PCIE_PEAKS, 250, None, 0.732, 16, None, False, "HBM2", 250,
          (sheets.P100, sheets.P100_BRIEF)),
    Board("P100 PCIe 12GB", "NVIDIA", ("Tesla P100-PCIE-12GB",),
          sheets.P100_PCIE_PEAKS, 250, None, 0.549, 12, None, False, "HBM2", 250,
          (sheets.P100, sheets.P100_BRIEF)),
    Board("T4", "NVIDIA", ("Tesla T4",),
          sheets.T4_PEAKS, 70, None, 0.32, 16, 1590, False, "GDDR6", 70,
          (sheets.T4, sheets.V100_CLOCKS)),
    Board("Quadro RTX 6000", "NVIDIA", ("Quadro RTX 6000",),
          sheets.RTX_6000_PEAKS, 260, None, 0.672, 24, None, False, "GDDR6", 260,
          (sheets.RTX_6000,)),
    Board("RTX A6000", "NVIDIA", ("NVIDIA RTX A6000",),
          sheets.RTX_A6000_PEAKS, 300, None, 0.768, 48, None, False, "GDDR6", 300,
          (sheets.GA102, sheets.RTX_A6000, sheets.NVIDIA_NAMES)),
    Board("RTX 6000 Ada", "NVIDIA", ("NVIDIA RTX 6000 Ada Generation",),
          sheets.RTX_6000_ADA_PEAKS, 300, None, 0.96, 48, None, False, "GDDR6", 300,
          (sheets.ADA, sheets.NVIDIA_NAMES)),
    # Makers of cards give GeForce boards limits of their own, so no highest one is known.
    Board("RTX 3090", "NVIDIA", ("NVIDIA GeForce RTX 3090",),
          sheets.RTX_3090_PEAKS, None, None, 0.936, 24, None, False, "GDDR6X", None,
          (sheets.GA102, sheets.NVIDIA_NAMES)),
    Board("RTX 4090", "NVIDIA", ("NVIDIA GeForce RTX 4090",),
          sheets.RTX_4090_PEAKS, None, None, 1.008, 24, None, False, "GDDR6X", None,
          (sheets.ADA, sheets.NVIDIA_NAMES)),
    Board("RTX 5090", "NVIDIA", ("NVIDIA GeForce RTX 5090",),
          sheets.RTX_5090_PEAKS, None, None, 1.792, 32, None, False, "GDDR7", None,
          (sheets.RTX_BLACKWELL, sheets.NVIDIA_NAMES)),
    Board("RTX PRO 6000 Server", "NVIDIA", ("NVIDIA RTX PRO 6000 Blackwell Server Edition",),
          sheets.RTX_PRO_SERVER_PEAKS, 600, None, 1.597, 96, None, False, "GDDR7", None,
          (sheets.RTX_PRO_SERVER, sheets.NVIDIA_NAMES)),
    Board("RTX PRO 6000 Workstation", "NVIDIA",
          ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition",),
          sheets.RTX_PRO_PEAKS, 600, None, 1.792, 96, None, False, "GDDR7", None,
          (sheets.RTX_PRO, sheets.NVIDIA_NAMES)),
    Board("B200", "NVIDIA", ("NVIDIA B200",),
          sheets.B200_PEAKS, 1000, None, 7.7, 180, None, False, "HBM3e", None, (sheets.HGX,)),
    Board("B300", "NVIDIA", ("NVIDIA B300 SXM6 AC",),
          sheets.B300_PEAKS, 1100, None, 8.0, 288, None, False, "HBM3e", None,
          (sheets.HGX, sheets.B300)),
    Board("GB200", "NVIDIA", ("NVIDIA GB200",),
          sheets.GB200_PEAKS, 1200, None, 8.0, 186, None, False, "HBM3e", None, (sheets.GB200,)),
    Board("GB300", "NVIDIA", ("NVIDIA GB300",),
          sheets.GB300_PEAKS, 1400, None, 8.0, 288, None, False, "HBM3e", None,
          (sheets.GB300, sheets.B300)),
    Board("MI100", "AMD", ("AMD Instinct MI100",),
          sheets.MI100_PEAKS, 300, None, 1.228, 32, 1502, False, "HBM2", 300,
          (sheets.MI100, sheets.AMD_NAMES)),
    Board("MI210", "AMD", ("AMD Instinct MI210",),
          sheets.MI210_PEAKS, 300, None, 1.6, 64, 1700, False, "HBM2e", 300,
          (sheets.MI210, sheets.AMD_NAMES)),
    Board("MI250X", "AMD", (),
          sheets.MI250X_PEAKS, 560, None, 3.2, 128, 1700, False, "HBM2e", 500, (sheets.MI250X,)),
    Board("MI250X die", "AMD", ("AMD Instinct MI250X", "AMD Instinct MI250X / MI250"),
          sheets.MI250X_DIE_PEAKS, 280, None, 1.6, 64, 1700, False, "HBM2e", 250,
          (sheets.MI250X, sheets.AMD_NAMES), dies=2),
    Board("MI300A", "AMD", ("AMD Instinct MI300A",),
          sheets.MI300A_PEAKS, 760, None, 5.3, 128, 2100, False, "HBM3", 550, (sheets.MI300A,)),
    Board("MI300X", "AMD", ("AMD Instinct MI300X", "AMD Instinct MI300X OAM"),
          sheets.MI300X_PEAKS, 750, 90, 5.3, 192, 2100, True, "HBM3", 750, (sheets.MI300X,)),
    Board("MI325X", "AMD", ("AMD Instinct MI325X",),
          sheets.MI300X_PEAKS, 1000, None, 6.0, 256, 2100, False, "HBM3e", 1000, (sheets.MI325X,)),
    Board("MI355X", "AMD", ("AMD Instinct MI355X",),
          sheets.MI355X_PEAKS, 1400, None, 8.0, 288, 2400, False, "HBM3e", 1400, (sheets.MI355X,)),
)
# fmt: on
"""In the order of the fields, so that boards can be compared. `default_power_w` is None where the
maker states a configurable range only. That of GH200 covers its CPU too, so it has no power."""

SIMULATED_PREFIX = "Simulated "

_BOARDS: dict[str, tuple[Board, ...]] = {}
for _board in BOARDS:
    for _name in (*_board.names, _board.id):
        _BOARDS[_name] = (*_BOARDS.get(_name, ()), _board)


def real_board(name: str, memory_bytes: int | None = None) -> Board | None:
    """Return the board like `find_board`, but None for a simulated one."""
    return None if name.startswith(SIMULATED_PREFIX) else find_board(name, memory_bytes)


@lru_cache(maxsize=1024)
def find_board(name: str, memory_bytes: int | None = None) -> Board | None:
    """Return the board with the reported name `name`, None if the rule book does not have it. For
    a simulated board it is the board that is simulated. Of several boards with this name it is the
    one whose memory is nearest to `memory_bytes`, or the first one if that is not known."""
    model = name.removeprefix(SIMULATED_PREFIX)
    # Drivers before R460 give no "NVIDIA".
    boards = _BOARDS.get(model) or _BOARDS.get(f"NVIDIA {model}") or ()
    if memory_bytes is None:
        return boards[0] if boards else None
    memory_gib = memory_bytes / 2**30
    return min(boards, key=lambda board: abs(board.memory_gib - memory_gib), default=None)


def highest_power_w(name: str, declared_w: float | None) -> float:
    """Return the highest power limit, in W, of the board with this name. For a board that is not in
    the rule book, or without a limit there, it is `declared_w`, or NaN if that is None."""
    board = find_board(name)
    max_w = board.max_power_w if board and board.max_power_w is not None else declared_w
    return math.nan if max_w is None else float(max_w)
