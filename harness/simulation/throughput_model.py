"""Throughput and power of a simulated board for a workload at a power cap: curves fitted to
published figures.

    items/s = limit u / (1 + u^sharpness)^(1 / sharpness),  u = (cap / knee)^rise

Throughput rises as a power of the cap until, around the knee, something else (memory, host, the
highest clock) limits it. `benchmarks/fit_boards.py` fits the four parameters and writes
throughput_model.json. docs/simulated.md gives the errors of the fit and the assumptions on power,
which was not published.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from operator import attrgetter
from pathlib import Path

from harness.errors import MeterNameError
from rules.boards import find_board
from rules.workloads import Workload, workloads

PATH = Path(__file__).with_name("throughput_model.json")
CONTROL_FIT = "assumed-peak-share-1"
"""The name of the curves of control runs in bundles."""
CONTROL_PEAK_SHARE = 0.67
"""Throughput of a control run at the highest cap, as a share of the dense peak: 663 of 989 TFLOP/s
in bf16 were seen on an H200 that drew 691 of 700 W. Assumed for other boards and precisions."""
CONTROL_RISE, CONTROL_SHARPNESS = 1.3, 10.0
"""Course of the throughput of a control run over the cap (assumed)."""
BASE_OF_BOARDS, SCALED_BOARDS = "H200", ("B200", "GB200")
BASE_OF_TARGETS = "resnet50-train"
UNENFORCED_SHARE = 0.3
"""Below the lowest cap that a board enforces, power falls by this share of each watt that the cap
is lowered (assumed)."""


def compute_throughput(
    cap_w: float, limit_per_s: float, knee_w: float, rise: float, sharpness: float
) -> float:
    """Return the throughput in items/s at a cap, by the formula of this module."""
    u: float = (cap_w / knee_w) ** rise
    return float(limit_per_s * u / (1 + u**sharpness) ** (1 / sharpness))


@dataclass(frozen=True)
class Curve:
    """Throughput and power of one workload on one board."""

    limit_per_s: float
    knee_w: float
    rise: float
    sharpness: float
    full_draw_w: float | None = None
    """Above this cap the board draws less than the cap. None if it always draws the cap."""
    draw_share: float = 1.0
    """The share of each watt of cap above `full_draw_w` that the board draws."""
    enforced_from_w: float = 0.0
    """Below this cap the board accepts a cap and does not enforce it. Throughput is then that of
    `unenforced_per_s`, as published."""
    unenforced_per_s: tuple[tuple[float, float], ...] = ()
    """Pairs of cap in W and items/s, by ascending cap."""

    def compute_items_per_s(self, cap_w: float) -> float:
        """Return the throughput of the board in items/s at a cap."""
        # Below `enforced_from_w` the formula does not hold, because the cap no longer sets the
        # power.
        curve_per_s = compute_throughput(max(cap_w, self.enforced_from_w), *self.parameters)
        for (lower_w, lower_per_s), (upper_w, upper_per_s) in pairwise(
            (*self.unenforced_per_s, (self.enforced_from_w, curve_per_s))
        ):
            if cap_w < upper_w:
                return lower_per_s + (upper_per_s - lower_per_s) * max(0.0, cap_w - lower_w) / (
                    upper_w - lower_w
                )
        return curve_per_s

    def compute_power_w(self, cap_w: float) -> float:
        """Return the mean power of the board in W at a cap."""
        if cap_w < self.enforced_from_w:
            return self.enforced_from_w - UNENFORCED_SHARE * (self.enforced_from_w - cap_w)
        if self.full_draw_w is None or cap_w <= self.full_draw_w:
            return cap_w
        return self.full_draw_w + self.draw_share * (cap_w - self.full_draw_w)

    def scale(self, factor: float) -> "Curve":
        """Return the curve with `factor` times the throughput."""
        unenforced = tuple((cap_w, factor * per_s) for cap_w, per_s in self.unenforced_per_s)
        return replace(self, limit_per_s=factor * self.limit_per_s, unenforced_per_s=unenforced)

    def is_capped(self, cap_w: float) -> bool:
        """True: the fit has no throughput without a cap."""
        return True

    @property
    def parameters(self) -> tuple[float, float, float, float]:
        return self.limit_per_s, self.knee_w, self.rise, self.sharpness


@dataclass(frozen=True)
class Fit:
    """All curves of one fit, by board and workload."""

    name: str
    curves: Mapping[tuple[str, str], Curve]


def name_figures(workload: Workload, variant: str) -> str:
    """Return the name of the figures of a workload: its id, and that of a control with the
    precision. The published figures of a workload hold for all its variants."""
    return f"{workload.id}-{variant}" if workload.is_control else workload.id


def make_control_curves(board: str) -> Iterator[tuple[tuple[str, str], Curve]]:
    """Yield the curves of the control on a board, by board and figures, in TFLOP/s."""
    model = find_board(board)
    assert model is not None and model.max_power_w is not None
    for workload in filter(attrgetter("is_control"), workloads().values()):
        for variant, precision in workload.variants.items():
            if (peak_tflops := model.peak_tflops.get(precision)) is not None:
                # The formula gives `CONTROL_PEAK_SHARE` of the peak at the highest cap.
                limit = CONTROL_PEAK_SHARE * peak_tflops * 2 ** (1 / CONTROL_SHARPNESS)
                curve = Curve(limit, model.max_power_w, CONTROL_RISE, CONTROL_SHARPNESS)
                yield (board, name_figures(workload, variant)), curve


def make_scaled_curves(curves: Mapping[tuple[str, str], Curve]) -> dict[tuple[str, str], Curve]:
    """Return the curves of boards without published figures: those of `BASE_OF_BOARDS` with the
    throughput by the dense peak in bf16 and the knee by the highest cap (assumed)."""
    base = find_board(BASE_OF_BOARDS)
    scaled = {}
    for board in map(find_board, SCALED_BOARDS):
        assert base and board and base.max_power_w and board.max_power_w
        rate = board.peak_tflops["bf16"] / base.peak_tflops["bf16"]
        power = board.max_power_w / base.max_power_w
        for (name, workload), curve in curves.items():
            if name == base.id:
                knee_w = power * curve.knee_w
                scaled[board.id, workload] = replace(curve.scale(rate), knee_w=knee_w)
    return scaled


def make_target_curves(curves: Mapping[tuple[str, str], Curve]) -> dict[tuple[str, str], Curve]:
    """Return the curves of workloads with a target, in samples/s: those of `BASE_OF_TARGETS` on the
    same board, by the FLOPs of a sample (assumed)."""
    base = workloads()[BASE_OF_TARGETS]
    return {
        (board, workload.id): curve.scale(base.full.flops_per_item / workload.full.flops_per_item)
        for (board, name), curve in curves.items()
        if name == base.id
        for workload in workloads().values()
        if workload.full.target
    }


def find_curve(board: str, workload: str) -> Curve:
    """Return the curve of a workload on a board. Raises MeterNameError if none is published."""
    curves = load_fit().curves
    if (curve := curves.get((board, workload))) is None:
        known = ", ".join(sorted(name for model, name in curves if model == board))
        raise MeterNameError(
            f"no figures are published of {workload} on {board}; there are figures of {known}"
        )
    return curve


@cache
def load_fit() -> Fit:
    """Read the fit in throughput_model.json."""
    document = json.loads(PATH.read_text())
    curves = {}
    for entry in document["curves"]:
        board, workload = entry.pop("accelerator"), entry.pop("workload")
        unenforced = tuple(
            (cap_w, items_per_s) for cap_w, items_per_s in entry.pop("unenforced_per_s", ())
        )
        curves[board, workload] = Curve(**entry, unenforced_per_s=unenforced)
    curves |= make_scaled_curves(curves)
    curves |= make_target_curves(curves)
    for board in {board for board, _ in curves}:
        curves |= make_control_curves(board)
    return Fit(document["name"], curves)
