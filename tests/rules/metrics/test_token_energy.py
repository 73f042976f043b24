"""Energy by kind of token: a declared model fitted to runs of different ratios of tokens."""

import itertools
import math

import numpy as np
import pytest

from rules.metrics.figures import Estimate
from rules.metrics.serving import TokenRun, separate_token_energy

INPUT_J, OUTPUT_J = 0.012, 0.055
RATIOS = (2.0, 2048.0, 1 / 32)
"""The closed request set, prefill only and decoding only."""


def make_run(ratio: float, error: float = 0.0, half_width: float = 0.01) -> TokenRun:
    """A run whose energy is that of the model, with a relative error and a relative half-width of
    its interval."""
    joules = (INPUT_J * ratio + OUTPUT_J) * (1 + error)
    ci95 = (joules * (1 - half_width), joules * (1 + half_width))
    return TokenRun(Estimate(joules, 10, None, ci95), ratio)


@pytest.mark.parametrize("ratios", [RATIOS, RATIOS[:2], (0.5, 1.0, 2.0, 4.0)])
def test_exact_runs_give_back_the_model(ratios: tuple[float, ...]) -> None:
    for order in itertools.permutations(ratios):
        energy = separate_token_energy([make_run(ratio) for ratio in order])
        assert energy is not None and energy.n == len(ratios)
        assert energy.input_j.mean == pytest.approx(INPUT_J)
        assert energy.output_j.mean == pytest.approx(OUTPUT_J)
        assert energy.largest_deviation < 1e-9


def test_two_runs_pass_on_their_own_intervals() -> None:
    """By hand: a = (j1 - j2) / (r1 - r2), b = (r1 j2 - r2 j1) / (r1 - r2)."""
    runs = [make_run(1.0, half_width=0.02), make_run(4.0, half_width=0.01)]
    halves = [run.joules_per_output_token.half_width for run in runs]
    energy = separate_token_energy(runs)
    assert energy is not None
    assert energy.input_j.half_width == pytest.approx(math.hypot(*halves) / 3)
    assert energy.output_j.half_width == pytest.approx(math.hypot(4 * halves[0], 1 * halves[1]) / 3)


def test_intervals_hold_the_true_energy_in_95_of_100_trials() -> None:
    """Runs with a relative error of 1 %, from prefill alone to decoding alone."""
    random = np.random.default_rng(1)
    covered = np.zeros(2)
    for _ in range(400):
        runs = [make_run(ratio, random.normal(0, 0.01)) for ratio in (1 / 32, 0.5, 2, 8, 2048)]
        energy = separate_token_energy(runs)
        assert energy is not None
        for kind, (estimate, true_j) in enumerate(
            ((energy.input_j, INPUT_J), (energy.output_j, OUTPUT_J))
        ):
            assert estimate.ci95 is not None
            covered[kind] += estimate.ci95[0] <= true_j <= estimate.ci95[1]
    # Four standard deviations of a share of 0.95 in 400 trials.
    assert (np.abs(covered / 400 - 0.95) < 4 * math.sqrt(0.95 * 0.05 / 400)).all()


def test_a_run_that_departs_from_the_model_shows() -> None:
    energy = separate_token_energy(
        [make_run(r, e) for r, e in zip(RATIOS, (0.2, 0, 0), strict=True)]
    )
    assert energy is not None and 0.05 < energy.largest_deviation < 0.2


@pytest.mark.parametrize("ratios", [(), (2.0,), (2.0, 2.0), (2.0, 3.9, 3.0)])
def test_runs_of_like_ratios_are_not_separated(ratios: tuple[float, ...]) -> None:
    assert separate_token_energy([make_run(ratio) for ratio in ratios]) is None
