"""Energy and time of trainings to a target, against their plain definition."""

import numpy as np
import pytest
from conftest import copy_evidence
from support.bundles import rederive

from rules.bundle import Bundle
from rules.metrics.figures import estimate_product
from rules.metrics.target import compute_target_figures
from rules.testing.target import train_to_target


def test_figures_of_one_training_an_epoch_are_means_over_seeds(tmp_path: object) -> None:
    evidence = copy_evidence()
    train_to_target(evidence)
    rederive(evidence)
    bundle = Bundle(tmp_path, (), evidence.evidence())  # type: ignore[arg-type]
    assert bundle.figures is not None
    figures = compute_target_figures(bundle.figures, bundle.stated_epochs)
    assert figures is not None
    windows = evidence.batches[evidence.batches["epoch"] > 0]
    seconds = (windows["end_ns"] - windows["start_ns"]) / 1e9
    # Two ranks train a model each.
    by_epoch = seconds.groupby(windows["epoch"]).mean()
    assert figures.trainings == 20
    assert figures.seconds.mean == pytest.approx(by_epoch.mean())
    # The 97.5 % quantile of Student's t of 9 degrees of freedom.
    half_width = np.std(by_epoch, ddof=1) / np.sqrt(10) * 2.2621572
    assert figures.seconds.half_width == pytest.approx(half_width, rel=1e-3)
    energies_j = [epoch.joules_per_item for epoch in bundle.figures.scored_epochs]
    assert figures.energy_j.mean == pytest.approx(np.mean(energies_j))
    assert figures.edp_js.mean == pytest.approx(figures.energy_j.mean * figures.seconds.mean)
    steps = [t["steps"] for e in evidence.result["epochs"][1:] for t in e["trainings"]]
    assert (figures.min_steps, figures.median_steps, figures.max_steps) == (
        min(steps),
        np.median(steps),
        max(steps),
    )


def test_no_trainings_give_no_figures(tmp_path: object) -> None:
    bundle = Bundle(tmp_path, (), copy_evidence().evidence())  # type: ignore[arg-type]
    assert bundle.figures is not None
    assert compute_target_figures(bundle.figures, bundle.stated_epochs) is None


def test_interval_of_a_product_covers_the_true_one() -> None:
    """Energy and time vary together, as both follow the steps."""
    random = np.random.default_rng(3)
    covered = 0
    for _ in range(1000):
        seconds = random.normal(30.0, 3.0, 10)
        energies_j = 700 * seconds + random.normal(0, 100, 10)
        product = estimate_product(list(energies_j), list(seconds), [1.0] * 10)
        assert product.ci95 is not None
        covered += product.ci95[0] <= 700 * 30.0 * 30.0 <= product.ci95[1]
    assert 930 <= covered <= 970
