"""What the users of a server see, and what its tokens cost: waiting times, input tokens per second,
and the energy of input and output tokens apart."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rules.bundle_format.table import Floats, Table
from rules.metrics.figures import Estimate, Percentiles, ServingFigures, student_t95

LEAST_RATIO_SPAN = 2.0
"""Input tokens per output token must differ by this factor between runs. Closer ratios do not tell
the two kinds of tokens apart."""


@dataclass(frozen=True)
class TokenRun:
    """A run of a server, for the model of its tokens."""

    joules_per_output_token: Estimate
    inputs_per_output: float
    """Input tokens per output token."""


@dataclass(frozen=True)
class TokenEnergy:
    """Energy by kind of token, in J per token, over `n` runs. The interval of two runs comes from
    the intervals within them, that of more runs from their deviations from the model."""

    input_j: Estimate
    output_j: Estimate
    n: int
    largest_deviation: float
    """Of the energy of a run from the model, as a share of 1. Two runs have none."""


def separate_token_energy(runs: Sequence[TokenRun]) -> TokenEnergy | None:
    """Fit E = a input tokens + b output tokens to the runs of one server. None if these are fewer
    than two or have nearly the same ratio of tokens.

    A joule of run i pays for x_i input and y_i output tokens, so a x_i + b y_i = 1. Least squares
    over these equations weigh the relative error of every run alike, also where the runs of nothing
    but prefill and nothing but decoding differ a thousandfold in J per output token.
    """
    ratios = [run.inputs_per_output for run in runs]
    if len(runs) < 2 or max(ratios) < LEAST_RATIO_SPAN * min(ratios):
        return None
    joules = np.array([run.joules_per_output_token.mean for run in runs])
    tokens_per_j = np.column_stack((np.array(ratios) / joules, 1 / joules))
    solve = np.linalg.pinv(tokens_per_j)
    energies_j = solve @ np.ones(len(runs))
    deviations = tokens_per_j @ energies_j - 1
    if len(runs) == 2:
        relative = [
            run.joules_per_output_token.half_width / run.joules_per_output_token.mean
            for run in runs
        ]
        half_widths_j = np.sqrt(((solve * relative) ** 2).sum(axis=1))
    else:
        degrees = len(runs) - 2
        deviation = math.sqrt(float(deviations @ deviations) / degrees)
        half_widths_j = student_t95(degrees) * deviation * np.sqrt((solve**2).sum(axis=1))
    input_j, output_j = (
        Estimate(float(j), len(runs), None, (float(j - half), float(j + half)))
        for j, half in zip(energies_j, half_widths_j, strict=True)
    )
    return TokenEnergy(input_j, output_j, len(runs), float(np.abs(deviations).max()))


def compute_serving_figures(
    requests: Table, active_s: Mapping[tuple[int, int], float]
) -> ServingFigures:
    """The figures of at least one request.

    All of `requests` ended in one of the epochs of `active_s`, which holds the active time in s by
    epoch and rank.
    """
    sent_ns, first_ns, end_ns = (requests.ints(name) for name in ("sent_ns", "first_ns", "end_ns"))
    # An answer of one token has no token after the first; its rest of 0 s is then divided by 1.
    further_tokens = np.maximum(requests.ints("output_tokens") - 1, 1)
    ranks = len({rank for _, rank in active_s})
    return ServingFigures(
        requests=len(requests),
        input_tokens_per_s=int(requests.ints("prompt_tokens").sum())
        # The sum over epochs and ranks, divided by the ranks, is the mean active time of a rank.
        / math.fsum(active_s.values())
        * ranks,
        ttft_s=_compute_percentiles((first_ns - sent_ns) / 1e9),
        tpot_s=_compute_percentiles((end_ns - first_ns) / 1e9 / further_tokens),
        latency_s=_compute_percentiles((end_ns - sent_ns) / 1e9),
    )


def compute_user_rate(tpot_s: Percentiles) -> float | None:
    """Output tokens per second that a user reads: the inverse of the median time per output token.
    None for answers of one token, which have no such time."""
    return 1 / tpot_s.p50 if tpot_s.p50 > 0 else None


def _compute_percentiles(values: Floats) -> Percentiles:
    return Percentiles(*(float(np.percentile(values, percent)) for percent in (50, 95, 99)))
