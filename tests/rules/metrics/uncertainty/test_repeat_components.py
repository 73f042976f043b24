"""The spread of repeated runs, kept apart as within a run, between runs and between boards."""

import pytest

from rules.metrics.uncertainty.repeats import Repeat, compute_components


def test_runs_of_one_epoch_say_nothing_about_the_spread_of_epochs() -> None:
    runs = [Repeat("A", 10.0, 4, 0.2), Repeat("A", 10.0, 3, 0.1), Repeat("B", 10.0, 1, None)]
    epochs = compute_components(runs).epochs
    # Three degrees of freedom at 2 %, two at 1 %.
    assert epochs is not None and epochs.degrees_of_freedom == 5
    assert epochs.percent == pytest.approx(((3 * 2**2 + 2 * 1**2) / 5) ** 0.5)
    assert compute_components(runs[2:]).epochs is None
