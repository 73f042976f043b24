"""Measured energy over the naive estimate: FLOPs over a peak rate, times a power.

A factor means nothing without its numerator and denominator: counting multiply-adds as one or two,
and the choice of the peak, change it by up to 32. So each comparison names both.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rules.boards import find_board
from rules.studies.metrics.estimates import GeometricMean, estimate_geometric_mean
from rules.studies.results import ModelResult, Setup


@dataclass(frozen=True)
class NaiveEstimate:
    """How to estimate the energy of a model from its FLOPs."""

    peak_tflops: float
    peak_name: str
    """Which peak that is, such as `bf16 peak`."""
    power_w: float
    flops_per_multiply_add: int = 2

    def describe(self) -> str:
        """Return the estimate as a formula."""
        counted = f"FLOPs (multiply-add = {self.flops_per_multiply_add})"
        return f"{counted} / {self.peak_tflops:g} TFLOP/s ({self.peak_name}) x {self.power_w:g} W"

    def compute_joules(self, flops: float) -> float:
        """The estimate for a model with these FLOPs per image, a multiply-add counted as two."""
        return flops * self.flops_per_multiply_add / 2 / (self.peak_tflops * 1e12) * self.power_w


@dataclass(frozen=True)
class NaiveComparison:
    """How many times the naive estimate models need."""

    numerator: str
    denominator: str
    factor: GeometricMean
    smallest: float
    largest: float


def choose_estimates(setup: Setup) -> tuple[NaiveEstimate, ...]:
    """The estimates by the dense peaks of the declared precision and the power cap: two for
    PyTorch's default, which computes in TF32 and FP32. None if board or cap are unknown."""
    board = find_board(setup.board)
    if board is None or setup.cap_w is None:
        return ()
    precisions = ("fp32", "tf32") if setup.precision == "tf32-conv" else (setup.precision,)
    return tuple(
        NaiveEstimate(board.peak_tflops[precision], f"{precision} peak", setup.cap_w)
        for precision in precisions
        if precision in board.peak_tflops
    )


def compare_with_naive(
    results: Sequence[ModelResult], estimate: NaiveEstimate
) -> NaiveComparison | None:
    """Compare the measured energy of models with an estimate. Returns None if no FLOPs are
    known."""
    factors = [
        result.best.joules_per_image / estimate.compute_joules(result.flops)
        for result in results
        if result.flops
    ]
    factor = estimate_geometric_mean(factors)
    if factor is None:
        return None
    return NaiveComparison(
        "measured J per image", estimate.describe(), factor, min(factors), max(factors)
    )
