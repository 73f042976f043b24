"""The sensor term of an energy: two sources that disagree."""

from dataclasses import replace
from pathlib import Path

import pytest
from conftest import copy_evidence

from rules.bundle import Bundle
from rules.metrics.figures import estimate_mean
from rules.metrics.uncertainty.systematic import compute_sensor_term


def test_sensor_term_is_the_difference_of_two_sources_and_unknown_without_a_counter() -> None:
    headline = Bundle(Path("bundle"), (), copy_evidence().evidence()).figures.headline
    headline = replace(headline, energy_j_trapezoid=estimate_mean([980.0, 1000.0]))
    for counter_j, share in ((1000.0, 0.01), (900.0, 0.1)):
        counter = estimate_mean([counter_j])
        assert compute_sensor_term(replace(headline, energy_j_counter=counter)) == pytest.approx(
            share
        )
    assert compute_sensor_term(replace(headline, energy_j_counter=None)) is None
    still = replace(headline, energy_j_counter=estimate_mean([0.0]))
    assert compute_sensor_term(still) is None
