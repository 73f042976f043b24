"""The figures of a run: what `rules.metrics.run` computes and result.json states.

Every figure has one name from here to the report, with its unit in the name; `mfu` is a share of 1.
`rules.metrics.figures_json` turns these records into the JSON of result.json and back.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Literal

EnergySource = Literal["counter", "trapezoid"]
"""The hardware energy counter, or the trapezoid over power samples."""

# Two-sided quantiles of Student's t for 1, 2, … degrees of freedom (any table of the
# distribution). SciPy would be a dependency for these numbers alone.
STUDENT_T95 = (
    12.706,
    4.303,
    3.182,
    2.776,
    2.571,
    2.447,
    2.365,
    2.306,
    2.262,
    2.228,
    2.201,
    2.179,
    2.160,
    2.145,
    2.131,
)
STUDENT_T99 = (
    63.657,
    9.925,
    5.841,
    4.604,
    4.032,
    3.707,
    3.499,
    3.355,
    3.250,
    3.169,
    3.106,
    3.055,
    3.012,
    2.977,
    2.947,
)
_Z95, _Z99 = 1.959964, 2.575829


@dataclass(frozen=True)
class Estimate:
    """A mean or a ratio of sums with its uncertainty, in the unit of what it estimates."""

    mean: float
    n: int
    """How many values, or pairs of values, it comes from."""
    sd: float | None
    """Standard deviation with n - 1; None for one value."""
    ci95: tuple[float, float] | None
    """Lower and upper end of the 95 % confidence interval by Student's t; None for one value."""

    @property
    def half_width(self) -> float:
        """Half the width of the 95 % interval; 0 where there is none."""
        return (self.ci95[1] - self.ci95[0]) / 2 if self.ci95 else 0.0

    def transform(self, factor: float, summand: float = 0.0) -> "Estimate":
        """`factor` x the estimate + `summand`, both without error, without standard deviation."""
        ends = [factor * end + summand for end in self.ci95 or ()]
        ci95 = (min(ends), max(ends)) if ends else None
        return Estimate(factor * self.mean + summand, self.n, None, ci95)


def student_t95(degrees: float) -> float:
    """Two-sided 95 % quantile of Student's t for `degrees` >= 1 degrees of freedom. Between two
    whole numbers it is interpolated in their reciprocals, with an error below 0.06 from 2 on."""
    if degrees <= len(STUDENT_T95):
        below = int(degrees)
        quantile = STUDENT_T95[below - 1]
        if below == degrees:
            return quantile
        share = (1 / below - 1 / degrees) / (1 / below - 1 / (below + 1))
        return quantile + share * (student_t95(below + 1) - quantile)
    return _expand_quantile(_Z95, degrees)


def student_t99(degrees: int) -> float:
    """Two-sided 99 % quantile of Student's t for `degrees` >= 1 degrees of freedom."""
    if degrees <= len(STUDENT_T99):
        return STUDENT_T99[degrees - 1]
    return _expand_quantile(_Z99, degrees)


def _expand_quantile(z: float, degrees: float) -> float:
    """The quantile of Student's t from that of the normal distribution. The error is below 0.0001
    at 95 % and 0.0004 at 99 % from 16 degrees on. Source: Abramowitz and Stegun, Handbook of
    Mathematical Functions, 26.7.5."""
    d = degrees
    return (
        z
        + (z**3 + z) / (4 * d)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * d**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * d**3)
    )


def estimate_mean(values: Sequence[float]) -> Estimate:
    """The mean of at least one value, with its 95 % confidence interval by Student's t."""
    # `fsum` rounds once, so the figures do not depend on the order of the values.
    mean = math.fsum(values) / len(values)
    return _estimate_around(mean, [value - mean for value in values])


def estimate_ratio(numerators: Sequence[float], denominators: Sequence[float]) -> Estimate:
    """The sum of at least one numerator over the sum of the denominators, with its 95 % confidence
    interval by Student's t.

    The standard deviation is that of the residuals (numerator - ratio x denominator) over the mean
    denominator. With equal denominators, it is that of the single ratios. Source: Cochran, Sampling
    Techniques, 3rd edition, section 2.11 (variance of a ratio estimate). Raises ZeroDivisionError
    if the denominators add up to zero.
    """
    total = math.fsum(denominators)
    ratio, mean_denominator = math.fsum(numerators) / total, total / len(denominators)
    residuals = [
        (numerator - ratio * denominator) / mean_denominator
        for numerator, denominator in zip(numerators, denominators, strict=True)
    ]
    return _estimate_around(ratio, residuals)


def estimate_product(
    first: Sequence[float], second: Sequence[float], denominators: Sequence[float]
) -> Estimate:
    """The product of the ratios of two sums to the sum of the denominators, with its 95 %
    confidence interval by the delta method: that of its linear part, by Student's t. Raises
    ZeroDivisionError as `estimate_ratio` does."""
    total = math.fsum(denominators)
    a, b, mean = math.fsum(first) / total, math.fsum(second) / total, total / len(denominators)
    residuals = [
        (b * (x - a * d) + a * (y - b * d)) / mean
        for x, y, d in zip(first, second, denominators, strict=True)
    ]
    return _estimate_around(a * b, residuals)


def _estimate_around(estimate: float, residuals: Sequence[float]) -> Estimate:
    n = len(residuals)
    # One value has no spread to estimate.
    if n == 1:
        return Estimate(estimate, 1, None, None)
    sd = math.sqrt(math.fsum(residual**2 for residual in residuals) / (n - 1))
    half_width = student_t95(n - 1) * sd / math.sqrt(n)
    return Estimate(estimate, n, sd, (estimate - half_width, estimate + half_width))


@dataclass(frozen=True)
class Headline:
    """The figures of a run over its scored epochs (see `rules.metrics.headline`); energies are sums
    over accelerators."""

    items_per_s_per_accelerator: Estimate
    items_per_s: Estimate
    joules_per_item: Estimate | None
    """None where an epoch has no items."""
    items_per_joule: Estimate | None
    """None where an epoch has no energy."""
    mean_power_w_per_accelerator: Estimate
    energy_j_counter: Estimate | None
    """None where an accelerator has no counter."""
    energy_j_trapezoid: Estimate
    mfu: Estimate | None
    """Model FLOP utilisation, a share of the dense peak; None where no peak is known."""


FIGURES = tuple(field.name for field in fields(Headline))
"""The names of the headline figures; each scored epoch has them too."""


@dataclass(frozen=True)
class AcceleratorFigures:
    """What one accelerator did in one epoch."""

    rank: int
    accelerator: str
    """Its UUID."""
    items: int
    """Those of the rank: the accelerators of a rank share them."""
    active_s: float
    """The union of the batch windows of its rank."""
    energy_j_counter: float | None
    energy_j_trapezoid: float
    mean_power_w: float
    """Energy of record over active time."""
    p95_power_w: float | None
    """95th percentile of the power samples in the active time; None without any."""
    max_power_w: float | None
    mean_sm_mhz: float | None
    """None where the clock was not read."""
    mean_mem_mhz: float | None


@dataclass(frozen=True)
class EpochFigures:
    """What a run did in one epoch. Energies are sums over accelerators."""

    epoch: int
    scored: bool
    """Whether the epoch counts; the first ones are discarded."""
    items: int
    """Items of all ranks, each rank once."""
    active_s: float
    """Mean active time of the accelerators."""
    items_per_s_per_accelerator: float
    items_per_s: float
    joules_per_item: float | None
    """None where there are no items."""
    items_per_joule: float | None
    """None where there is no energy."""
    mean_power_w_per_accelerator: float
    energy_j_counter: float | None
    """None where an accelerator has no counter."""
    energy_j_trapezoid: float
    mfu: float | None
    """Model FLOP utilisation, a share of the dense peak; None where no peak is known."""
    accelerators: tuple[AcceleratorFigures, ...]
    """One entry for each rank and accelerator."""


@dataclass(frozen=True)
class ObservedPower:
    """What one accelerator drew over the scored epochs."""

    accelerator: str
    """Its UUID."""
    mean_power_w: float
    cap_enforced: bool | None
    """Whether the mean power kept to the declared cap; None where no cap was declared."""


@dataclass(frozen=True)
class Percentiles:
    """Percentiles of some values, in their unit."""

    p50: float
    p95: float
    p99: float


@dataclass(frozen=True)
class ServingFigures:
    """What the users of a server see, over the requests that ended in scored epochs."""

    requests: int
    input_tokens_per_s: float
    ttft_s: Percentiles
    """Time to first token, from sending."""
    tpot_s: Percentiles
    """Time per output token: the rest of the answer over the tokens after the first."""
    latency_s: Percentiles
    """From sending to the end of the answer."""


@dataclass(frozen=True)
class RunFigures:
    """Everything that is computed from the tables of a run."""

    epochs: tuple[EpochFigures, ...]
    headline: Headline
    energy_of_record: EnergySource
    observed: tuple[ObservedPower, ...]
    serving: ServingFigures | None
    """None where nothing was served."""

    @property
    def scored_epochs(self) -> tuple[EpochFigures, ...]:
        return tuple(epoch for epoch in self.epochs if epoch.scored)


@dataclass(frozen=True)
class BoardIdle:
    """The power of one board of a node without work, and over the whole run. A figure of a used
    board always exists; one of an unused board is None if it could not be read."""

    node: str
    accelerator: str
    """Its UUID."""
    used: bool
    """Whether the run computes on the board."""
    bare_w: float | None
    """Mean power before the workers start."""
    resident_w: float | None
    """Mean power with the model resident and no batch. A board that is not used has no model."""
    mean_w: float | None
    """Mean power and, in `energy_j`, energy over the whole run."""
    energy_j: float | None


@dataclass(frozen=True)
class PhaseFigures:
    """A phase of the run on one node."""

    node: str
    phase: str
    seconds: float
    energy_j: float
    """Of all accelerators of the run on the node."""


@dataclass(frozen=True)
class IdleFigures:
    """Idle power and phases of a run (see `rules.metrics.idle`)."""

    boards: tuple[BoardIdle, ...]
    phases: tuple[PhaseFigures, ...]


@dataclass(frozen=True)
class MeanClocks:
    """Mean clocks in MHz over scored epochs and accelerators; None where one was not read."""

    sm_mhz: Estimate | None
    mem_mhz: Estimate | None
