"""Fits of energy over activations, FLOPs and input size."""

import numpy as np
import pytest
from support.rules.model_results import make_result

from rules.studies.metrics.fits import fit_energy, fit_size_exponent


def make_models(noise: float, count: int = 40, seed: int = 1) -> list:  # type: ignore[type-arg]
    """Models with E = 2e-9 x activations^0.9 x FLOPs^0.1, and noise on log E."""
    random = np.random.Generator(np.random.PCG64(seed))
    activations = np.exp(random.normal(16, 1, count))
    flops = activations * np.exp(random.normal(6, 0.8, count))
    energies_j = 2e-9 * activations**0.9 * flops**0.1 * np.exp(random.normal(0, noise, count))
    return [
        make_result(f"model{i}", energy_j, activations=activation, flops=flop)
        for i, (energy_j, activation, flop) in enumerate(
            zip(energies_j.tolist(), activations.tolist(), flops.tolist(), strict=True)
        )
    ]


def test_fit_finds_the_exponents_and_the_constant() -> None:
    fit = fit_energy(make_models(noise=0))
    assert fit is not None
    assert fit.n == 40
    assert np.exp(fit.intercept.value) == pytest.approx(2e-9)
    assert (fit.activations.value, fit.flops.value) == pytest.approx((0.9, 0.1))
    assert fit.r2 == pytest.approx(1)


def test_standard_errors_are_those_of_least_squares() -> None:
    models = make_models(noise=0.3)
    fit = fit_energy(models)
    assert fit is not None
    matrix = np.array([[1, np.log(m.activations), np.log(m.flops)] for m in models])
    energies = np.log([m.best.joules_per_image for m in models])
    values = np.linalg.solve(matrix.T @ matrix, matrix.T @ energies)
    variance = ((energies - matrix @ values) ** 2).sum() / 37
    errors = np.sqrt(variance * np.diag(np.linalg.inv(matrix.T @ matrix)))
    coefficients = (fit.intercept, fit.activations, fit.flops)
    assert [c.value for c in coefficients] == pytest.approx(values.tolist())
    assert [c.standard_error for c in coefficients] == pytest.approx(errors.tolist(), rel=1e-6)
    assert fit.residual_sd == pytest.approx(np.sqrt(variance))


def test_intervals_hold_the_true_exponent_about_19_times_in_20() -> None:
    fits = [fit_energy(make_models(noise=0.3, seed=seed)) for seed in range(200)]
    hits = sum(fit is not None and fit.flops.ci95[0] < 0.1 < fit.flops.ci95[1] for fit in fits)
    assert 181 <= hits <= 198


def test_fit_of_almost_proportional_sizes_does_not_depend_on_the_order() -> None:
    """The checker recomputes the fit on another machine, where sums round in other ways."""
    random = np.random.Generator(np.random.PCG64(4))
    sizes = np.exp(random.normal(0, 1, 30)) * 1e7
    models = [
        make_result(f"model{i}", size / 1e8 * noise, activations=size, flops=100 * size * change)
        for i, (size, noise, change) in enumerate(
            zip(
                sizes.tolist(),
                np.exp(random.normal(0, 0.1, 30)).tolist(),
                np.exp(random.normal(0, 2e-6, 30)).tolist(),
                strict=True,
            )
        )
    ]
    fit, again = fit_energy(models), fit_energy(models[::-1])
    assert fit is not None and again is not None
    for first, second in ((fit.flops, again.flops), (fit.intercept, again.intercept)):
        assert second.standard_error == pytest.approx(first.standard_error, rel=1e-7)
        assert second.ci95 == pytest.approx(first.ci95, rel=1e-7)


def test_too_few_or_proportional_models_have_no_fit() -> None:
    assert fit_energy(make_models(noise=0.1, count=4)) is None
    proportional = [
        make_result(f"model{i}", i + 1.0, activations=(i + 1) * 1e6, flops=(i + 1) * 1e9)
        for i in range(9)
    ]
    assert fit_energy(proportional) is None
    assert fit_energy([make_result(f"model{i}", i + 1.0) for i in range(9)]) is None


def test_size_exponent_is_the_median_over_models_of_several_sizes() -> None:
    exponents = {"a": 1.9, "b": 2.0, "c": 2.3}
    results = [
        make_result(name, (size / 224) ** exponent, size=size)
        for name, exponent in exponents.items()
        for size in (224, 288, 384)
    ]
    # One size says nothing; other weights are another model.
    results += [make_result("d", 1.0), make_result("a", 9.0, size=448, tag="other")]
    exponent = fit_size_exponent(results)
    assert exponent is not None
    assert (exponent.n, exponent.value) == (3, pytest.approx(2.0))
    assert fit_size_exponent([make_result("d", 1.0)]) is None
