"""How many runs would tell two settings apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.metrics.figures import Estimate
from rules.metrics.uncertainty.deciding_runs import MOST_RUNS, count_deciding_runs


def make_difference(mean: float, half_width: float) -> Estimate:
    return Estimate(mean, 3, None, (mean - half_width, mean + half_width))


@pytest.mark.parametrize(
    ("mean", "half_width", "runs", "needed"),
    [
        (1.0, 2.0, 3, 13),  # the half-width must shrink by more than 2
        (-1.0, 2.0, 3, 13),
        (1.0, 1.0, 3, 4),
        (1.0, 1.2, 1, 2),
        (1.0, 0.5, 3, 4),  # already told apart: no number below one more run
    ],
)
def test_runs_grow_with_the_square_of_the_half_width(
    mean: float, half_width: float, runs: int, needed: int
) -> None:
    assert count_deciding_runs(make_difference(mean, half_width), runs) == needed


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3), st.integers(1, 10))
def test_so_many_runs_exclude_zero_and_are_never_more_than_the_most(
    mean: float, half_width: float, runs: int
) -> None:
    needed = count_deciding_runs(make_difference(mean, half_width), runs)
    if needed is None:
        assert runs * (half_width / mean) ** 2 >= MOST_RUNS - 1
    else:
        assert half_width * (runs / needed) ** 0.5 < mean * (1 + 1e-9) or needed == runs + 1
        assert runs < needed <= MOST_RUNS


def test_without_an_interval_or_a_difference_no_number_is_given() -> None:
    assert count_deciding_runs(Estimate(1.0, 1, None, None), 1) is None
    assert count_deciding_runs(make_difference(0.0, 1.0), 3) is None
    assert count_deciding_runs(make_difference(0.01, 1.0), 3) is None
