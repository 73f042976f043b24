"""Measured energy over the naive estimate: FLOPs over a peak rate, times a power.

A factor means nothing without its numerator and denominator: counting multiply-adds as one or two,
and the choice of the peak, change it by up to 32. So each comparison names both.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rules.boards import Board, find_board
from rules.metrics.figures import Estimate, Headline
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

    def compute_tflops(self, peak_share: float) -> float:
        """The rate at a share of the peak, such as an MFU."""
        return peak_share * self.peak_tflops

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


@dataclass(frozen=True)
class RunComparison:
    """How many times the naive estimate a run needs. It equals (W / board W) / MFU."""

    numerator: str
    estimate: NaiveEstimate
    factor: Estimate
    """With the interval of the energy per item, because the estimate is a constant."""

    @property
    def denominator(self) -> str:
        return self.estimate.describe()

    @property
    def gflops_per_w(self) -> Estimate:
        """Sustained FLOPs per joule, in GFLOP/s per W: those of peak and power over the factor."""
        at_peak = 1e3 * self.estimate.peak_tflops / self.estimate.power_w
        ci95 = self.factor.ci95
        return Estimate(
            at_peak / self.factor.mean,
            self.factor.n,
            None,
            ci95 and (at_peak / ci95[1], at_peak / ci95[0]),
        )


def estimate_by_board(board: Board, precision: str) -> NaiveEstimate | None:
    """The estimate by the dense peak and the highest power of the board at hand. None if one of the
    two is not known."""
    peak_tflops = board.highest_peak_tflops(precision)
    if peak_tflops is None or board.max_power_w is None:
        return None
    return NaiveEstimate(peak_tflops, f"dense {precision} peak of {board.id}", board.max_power_w)


def compare_run_with_naive(headline: Headline, estimate: NaiveEstimate) -> RunComparison | None:
    """Compare the energy per item of a run with an estimate that has the peak of its MFU. Returns
    None if energy or MFU are not known."""
    joules, mfu = headline.joules_per_item, headline.mfu
    rate = headline.items_per_s_per_accelerator.mean
    if joules is None or mfu is None or not mfu.mean > 0 or not rate > 0:
        return None
    naive_joules = estimate.compute_joules(mfu.mean * estimate.peak_tflops * 1e12 / rate)
    factor = Estimate(
        joules.mean / naive_joules,
        joules.n,
        None if joules.sd is None else joules.sd / naive_joules,
        joules.ci95 and (joules.ci95[0] / naive_joules, joules.ci95[1] / naive_joules),
    )
    return RunComparison("measured J per item", estimate, factor)


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
