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
class Source:
    """A data sheet, or another publication that states properties of a board."""

    title: str
    url: str


@dataclass(frozen=True)
class Board:
    """One board model."""

    id: str
    vendor: str
    names: tuple[str, ...]
    """The names that the vendor's library reports for it. Empty: they are not known, and the rules
    treat the board as unknown."""
    peak_tflops: Mapping[str, float]
    """Dense peak rates in TFLOP/s by precision, on matrix units where the board has them for the
    precision. A multiply-add counts as two."""
    max_power_w: float | None
    """The highest power limit that can be set."""
    idle_power_w: float | None
    """A lower bound of the power of a working board: even an idle one draws more. Data sheets have
    no such figure: it is a bound of this rule book."""
    memory_tb_per_s: float
    """Memory bandwidth."""
    memory_gib: float
    boost_mhz: int | None
    """The highest clock of the compute units."""
    instant: bool
    """Whether the driver is known to report instantaneous power as well as the average over 1 s."""
    memory_type: str
    default_power_w: float | None
    """The power limit of a board that nobody changed."""
    sources: tuple[Source, ...]
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


def _make_peaks(
    fp64: float | None,
    fp32: float | None,
    tf32: float | None,
    fp16: float,
    fp8: float | None,
    has_bf16: bool = True,
) -> Mapping[str, float]:
    """Peaks by precision. The rate of bf16 is that of fp16 on boards that have it."""
    bf16 = fp16 if has_bf16 else None
    peaks = {"fp64": fp64, "fp32": fp32, "tf32": tf32, "bf16": bf16, "fp16": fp16, "fp8": fp8}
    return {precision: rate for precision, rate in peaks.items() if rate is not None}


_HOPPER_PEAKS = _make_peaks(66.9, 66.9, 494.7, 989.4, 1978.9)
_HOPPER_NVL_PEAKS = _make_peaks(60.0, 60.0, 417.5, 835.5, 1670.5)
_H100_PCIE_PEAKS = _make_peaks(51.2, 51.2, 378.0, 756.0, 1513.0)
_AMPERE_PEAKS = _make_peaks(19.5, 19.5, 156.0, 312.0, None)
_A100_64GB_PEAKS = _make_peaks(22.4, 22.4, 179.0, 358.0, None)
_A40_PEAKS = _make_peaks(None, 37.4, 74.8, 149.7, None)
_RTX_PRO_SERVER_PEAKS = _make_peaks(None, 120.0, 250.0, 500.0, 1000.0)
_RTX_PRO_PEAKS = _make_peaks(None, 125.0, 251.9, 503.8, 1007.6)
_L40S_PEAKS = _make_peaks(None, 91.6, 183.0, 362.05, 733.0)
_V100_PEAKS = _make_peaks(7.8, 15.7, None, 125.0, None, has_bf16=False)
_V100_PCIE_PEAKS = _make_peaks(7.0, 14.0, None, 112.0, None, has_bf16=False)
_T4_PEAKS = _make_peaks(None, 8.1, None, 65.0, None, has_bf16=False)
_RTX_6000_PEAKS = _make_peaks(None, 16.3, None, 130.5, None, has_bf16=False)
_B200_PEAKS = _make_peaks(37.0, 75.0, 1100.0, 2250.0, 4500.0)
_B300_PEAKS = _make_peaks(1.25, 75.0, 1125.0, 2250.0, 4500.0)
_GB200_PEAKS = _make_peaks(40.0, 80.0, 1250.0, 2500.0, 5000.0)
_GB300_PEAKS = _make_peaks(None, None, None, 2500.0, 5000.0)
_MI250X_PEAKS = _make_peaks(95.7, 95.7, None, 383.0, None)
_MI210_PEAKS = _make_peaks(45.3, 45.3, None, 181.0, None)
_MI250X_DIE_PEAKS = _make_peaks(47.9, 47.9, None, 191.5, None)
_MI300A_PEAKS = _make_peaks(122.6, 122.6, 490.3, 980.6, 1961.2)
_MI300X_PEAKS = _make_peaks(163.4, 163.4, 653.7, 1307.4, 2614.9)
_H200_CEILINGS = {"bf16": 1740, "fp16": 1635, "fp8": 1695, "tf32": 1950}
_H100_CEILINGS = {"bf16": 1650, "fp16": 1560, "fp8": 1605, "tf32": 1815, "fp64": 1965}
_MI355X_PEAKS = _make_peaks(78.6, 157.3, None, 2516.6, 5033.2)

_NVIDIA = "https://www.nvidia.com/en-us/data-center"
_NVIDIA_PDF = "https://www.nvidia.com/content/dam/en-zz/Solutions"
_AMD = "https://www.amd.com/en/products/accelerators/instinct"
_H100 = Source("NVIDIA H100 Tensor Core GPU data sheet", f"{_NVIDIA}/h100/")
_H200 = Source("NVIDIA H200 Tensor Core GPU data sheet", f"{_NVIDIA}/h200/")
_A100 = Source(
    "NVIDIA A100 Tensor Core GPU data sheet",
    f"{_NVIDIA_PDF}/Data-Center/a100/pdf/nvidia-a100-datasheet-us-nvidia-1758950-r4-web.pdf",
)
_A100_64GB = Source(
    "LEONARDO: A Pan-European Pre-Exascale Supercomputer for HPC and AI Applications, Table 2",
    "https://arxiv.org/abs/2307.16885",
)
_A40 = Source(
    "NVIDIA A40 data sheet",
    "https://images.nvidia.com/content/Solutions/data-center/a40/nvidia-a40-datasheet.pdf",
)
_RTX_PRO_SERVER = Source(
    "NVIDIA RTX PRO 6000 Blackwell Server Edition, specifications",
    f"{_NVIDIA}/rtx-pro-6000-blackwell-server-edition/",
)
_RTX_PRO = Source(
    "NVIDIA RTX Blackwell PRO GPU architecture",
    f"{_NVIDIA_PDF}/design-visualization/quadro-product-literature/"
    "NVIDIA-RTX-Blackwell-PRO-GPU-Architecture-v1.0.pdf",
)
_NVIDIA_NAMES = Source(
    "Names of NVIDIA's GPUs, README of the open kernel modules",
    "https://github.com/NVIDIA/open-gpu-kernel-modules#compatible-gpus",
)
_A100_BRIEF = Source(
    "NVIDIA A100 40GB PCIe product brief, PB-10137-001",
    "https://docslib.org/doc/3015592/a100-40gb-pcie-product-brief",
)
_H100_BRIEF = Source(
    "NVIDIA H100 PCIe product brief, PB-11133-001",
    "https://manuals.plus/m/56b0c3ef7d0a1c470c0af8f05a0bd1f29a778007472ba941201fbbb185c9bccd",
)
_HELMA = Source("Power capping on H100 and H200, 2026", "https://arxiv.org/abs/2604.11391")
_RTX_6000 = Source(
    "NVIDIA Quadro RTX 6000 data sheet",
    f"{_NVIDIA_PDF}/design-visualization/quadro-product-literature/"
    "quadro-rtx-6000-us-nvidia-704093-r4-web.pdf",
)
_V100 = Source("NVIDIA V100 Tensor Core GPU data sheet", f"{_NVIDIA}/v100/")
_T4 = Source("NVIDIA T4 data sheet", f"{_NVIDIA}/tesla-t4/")
_L40S = Source("NVIDIA L40S data sheet", f"{_NVIDIA}/l40s/")
_GH200 = Source(
    "NVIDIA GH200 Grace Hopper Superchip data sheet", f"{_NVIDIA}/grace-hopper-superchip/"
)
_HGX = Source("NVIDIA HGX platform specifications", f"{_NVIDIA}/hgx/")
_GB200 = Source("NVIDIA GB200 NVL72 data sheet", f"{_NVIDIA}/gb200-nvl72/")
_GB300 = Source("NVIDIA GB300 NVL72 data sheet", f"{_NVIDIA}/gb300-nvl72/")
_B300 = Source("B300 and GB300 at a glance", "https://glennklockwood.com/garden/processors/B300")
_L40S_CLOCKS = Source(
    "NVIDIA L40S at a dealer", "https://www.itcreations.com/nvidia-gpu/nvidia-l40s-gpu-accelerator"
)
_V100_CLOCKS = Source(
    "T4 and V100 compared", "https://hmc-tech.com/gpu/nvidia-t4-vs-nvidia-v100-sxm"
)
_MI210 = Source("AMD Instinct MI210 data sheet", f"{_AMD}/mi200/mi210.html")
_MI250X = Source("AMD Instinct MI250X data sheet", f"{_AMD}/mi200/mi250x.html")
_AMD_NAMES = Source(
    "Names of AMD GPUs, libdrm",
    "https://gitlab.freedesktop.org/mesa/drm/-/blob/main/data/amdgpu.ids",
)
_MI300A = Source("AMD Instinct MI300A data sheet", f"{_AMD}/mi300/mi300a.html")
_MI300X = Source("AMD Instinct MI300X data sheet", f"{_AMD}/mi300/mi300x.html")
_MI325X = Source("AMD Instinct MI325X data sheet", f"{_AMD}/mi300/mi325x.html")
_MI355X = Source("AMD Instinct MI355X data sheet", f"{_AMD}/mi350/mi355x.html")


# fmt: off
BOARDS = (
    Board("H200", "NVIDIA", ("NVIDIA H200",),
          _HOPPER_PEAKS, 700, 40, 4.8, 141, 1980, True, "HBM3e", 700, (_H200,), _H200_CEILINGS),
    Board("H200 NVL", "NVIDIA", ("NVIDIA H200 NVL",),
          _HOPPER_NVL_PEAKS, 600, None, 4.8, 141, None, False, "HBM3e", None, (_H200,)),
    Board("H100", "NVIDIA", ("NVIDIA H100 80GB HBM3",),
          _HOPPER_PEAKS, 700, 40, 3.35, 80, 1980, True, "HBM3", 700, (_H100,), _H100_CEILINGS),
    Board("H100 94GB HBM2e", "NVIDIA", ("NVIDIA H100",),
          _HOPPER_PEAKS, 700, None, 2.4, 94, None, False, "HBM2e", 700,
          (_H100, _HELMA, _NVIDIA_NAMES)),
    Board("H100 PCIe", "NVIDIA", ("NVIDIA H100 PCIe",),
          _H100_PCIE_PEAKS, 350, 30, 2.0, 80, 1755, True, "HBM2e", 350, (_H100_BRIEF, _H100)),
    Board("H100 NVL", "NVIDIA", ("NVIDIA H100 NVL",),
          _HOPPER_NVL_PEAKS, 400, None, 3.9, 94, None, False, "HBM3", None, (_H100,)),
    Board("GH200", "NVIDIA", ("NVIDIA GH200 480GB", "NVIDIA GH200 120GB"),
          _HOPPER_PEAKS, None, None, 4.0, 96, None, False, "HBM3", None, (_GH200, _NVIDIA_NAMES)),
    Board("GH200 144GB", "NVIDIA", ("NVIDIA GH200 144G HBM3e",),
          _HOPPER_PEAKS, None, None, 4.9, 144, None, False, "HBM3e", None,
          (_GH200, _NVIDIA_NAMES)),
    Board("A100", "NVIDIA", ("NVIDIA A100-SXM4-80GB", "A100-SXM-80GB"),
          _AMPERE_PEAKS, 400, 30, 2.039, 80, 1410, False, "HBM2e", 400, (_A100,)),
    Board("A100 40GB", "NVIDIA", ("NVIDIA A100-SXM4-40GB",),
          _AMPERE_PEAKS, 400, 30, 1.555, 40, 1410, False, "HBM2", 400, (_A100,)),
    Board("A100 64GB", "NVIDIA", ("NVIDIA A100-SXM-64GB",),
          _A100_64GB_PEAKS, None, None, 1.64, 64, None, False, "HBM2e", None,
          (_A100_64GB, _NVIDIA_NAMES)),
    Board("A100 PCIe 80GB", "NVIDIA", ("NVIDIA A100 80GB PCIe",),
          _AMPERE_PEAKS, 300, 25, 1.935, 80, 1410, False, "HBM2e", 300, (_A100,)),
    Board("A100 PCIe 40GB", "NVIDIA", ("NVIDIA A100-PCIE-40GB",),
          _AMPERE_PEAKS, 250, 25, 1.555, 40, 1410, False, "HBM2", 250, (_A100_BRIEF, _A100)),
    Board("A40", "NVIDIA", ("NVIDIA A40",),
          _A40_PEAKS, 300, None, 0.696, 48, None, False, "GDDR6", 300, (_A40,)),
    Board("L40S", "NVIDIA", ("NVIDIA L40S",),
          _L40S_PEAKS, 350, None, 0.864, 48, 2520, False, "GDDR6", 350, (_L40S, _L40S_CLOCKS)),
    Board("V100", "NVIDIA", ("Tesla V100-SXM2-32GB",),
          _V100_PEAKS, 300, None, 0.9, 32, 1530, False, "HBM2", 300, (_V100, _V100_CLOCKS)),
    Board("V100 16GB", "NVIDIA", ("Tesla V100-SXM2-16GB",),
          _V100_PEAKS, 300, None, 0.9, 16, 1530, False, "HBM2", 300, (_V100, _V100_CLOCKS)),
    Board("V100 PCIe 32GB", "NVIDIA", ("Tesla V100-PCIE-32GB",),
          _V100_PCIE_PEAKS, 250, None, 0.9, 32, None, False, "HBM2", 250, (_V100,)),
    Board("V100 PCIe 16GB", "NVIDIA", ("Tesla V100-PCIE-16GB",),
          _V100_PCIE_PEAKS, 250, None, 0.9, 16, None, False, "HBM2", 250, (_V100,)),
    Board("T4", "NVIDIA", ("Tesla T4",),
          _T4_PEAKS, 70, None, 0.32, 16, 1590, False, "GDDR6", 70, (_T4, _V100_CLOCKS)),
    Board("Quadro RTX 6000", "NVIDIA", ("Quadro RTX 6000",),
          _RTX_6000_PEAKS, 260, None, 0.672, 24, None, False, "GDDR6", 260, (_RTX_6000,)),
    Board("RTX PRO 6000 Server", "NVIDIA", ("NVIDIA RTX PRO 6000 Blackwell Server Edition",),
          _RTX_PRO_SERVER_PEAKS, 600, None, 1.597, 96, None, False, "GDDR7", None,
          (_RTX_PRO_SERVER, _NVIDIA_NAMES)),
    Board("RTX PRO 6000 Workstation", "NVIDIA",
          ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition",),
          _RTX_PRO_PEAKS, 600, None, 1.792, 96, None, False, "GDDR7", None,
          (_RTX_PRO, _NVIDIA_NAMES)),
    Board("B200", "NVIDIA", ("NVIDIA B200",),
          _B200_PEAKS, 1000, None, 7.7, 180, None, False, "HBM3e", None, (_HGX,)),
    Board("B300", "NVIDIA", ("NVIDIA B300 SXM6 AC",),
          _B300_PEAKS, 1100, None, 8.0, 288, None, False, "HBM3e", None, (_HGX, _B300)),
    Board("GB200", "NVIDIA", ("NVIDIA GB200",),
          _GB200_PEAKS, 1200, None, 8.0, 186, None, False, "HBM3e", None, (_GB200,)),
    Board("GB300", "NVIDIA", ("NVIDIA GB300",),
          _GB300_PEAKS, 1400, None, 8.0, 288, None, False, "HBM3e", None, (_GB300, _B300)),
    Board("MI210", "AMD", ("AMD Instinct MI210",),
          _MI210_PEAKS, 300, None, 1.6, 64, 1700, False, "HBM2e", 300, (_MI210, _AMD_NAMES)),
    Board("MI250X", "AMD", (),
          _MI250X_PEAKS, 560, None, 3.2, 128, 1700, False, "HBM2e", 500, (_MI250X,)),
    Board("MI250X die", "AMD", ("AMD Instinct MI250X", "AMD Instinct MI250X / MI250"),
          _MI250X_DIE_PEAKS, 280, None, 1.6, 64, 1700, False, "HBM2e", 250,
          (_MI250X, _AMD_NAMES), dies=2),
    Board("MI300A", "AMD", ("AMD Instinct MI300A",),
          _MI300A_PEAKS, 760, None, 5.3, 128, 2100, False, "HBM3", 550, (_MI300A,)),
    Board("MI300X", "AMD", ("AMD Instinct MI300X", "AMD Instinct MI300X OAM"),
          _MI300X_PEAKS, 750, 90, 5.3, 192, 2100, True, "HBM3", 750, (_MI300X,)),
    Board("MI325X", "AMD", ("AMD Instinct MI325X",),
          _MI300X_PEAKS, 1000, None, 6.0, 256, 2100, False, "HBM3e", 1000, (_MI325X,)),
    Board("MI355X", "AMD", ("AMD Instinct MI355X",),
          _MI355X_PEAKS, 1400, None, 8.0, 288, 2400, False, "HBM3e", 1400, (_MI355X,)),
)
# fmt: on
"""In the order of the fields, so that boards can be compared. `default_power_w` is None where the
maker states a configurable range only. That of GH200 covers its CPU too, so it has no power."""

SIMULATED_PREFIX = "Simulated "

_BOARDS = {name: board for board in BOARDS for name in (*board.names, board.id)}


def real_board(name: str) -> Board | None:
    """Return the board with this reported name like `find_board`, but None for a simulated one."""
    return None if name.startswith(SIMULATED_PREFIX) else find_board(name)


@lru_cache(maxsize=1024)
def find_board(name: str) -> Board | None:
    """Return the board with the reported name `name`, None if the rule book does not have it. For
    a simulated board it is the board that is simulated."""
    model = name.removeprefix(SIMULATED_PREFIX)
    if (board := _BOARDS.get(model)) is None:
        # Drivers before R460 give no "NVIDIA".
        board = _BOARDS.get(f"NVIDIA {model}")
    return board


def highest_power_w(name: str, declared_w: float | None) -> float:
    """Return the highest power limit, in W, of the board with this name. For a board that is not in
    the rule book, or without a limit there, it is `declared_w`, or NaN if that is None."""
    board = find_board(name)
    max_w = board.max_power_w if board and board.max_power_w is not None else declared_w
    return math.nan if max_w is None else float(max_w)
