"""The runs on one accelerator that runs on several are compared with, and their speed-up."""

import math

import pytest
from support.report.result_rows import make_run_row

from reporting.results_model import ResultRow
from reporting.sections.repeats import NO_REPEATS
from reporting.sections.sweeps.scaling import (
    ScaledRun,
    estimate_speed_up,
    find_reference_runs,
    find_scaled_runs,
)


def list_reference_rates(scaled: ScaledRun) -> list[float]:
    return [row.items_per_s_per_accelerator.value for row in scaled.references]


def test_reference_is_the_fastest_of_the_same_batch_size_of_any_size_or_of_another_system() -> None:
    others = [
        make_run_row(1200, "c", batch_size=512, system="other"),
        make_run_row(1050, "a", batch_size=256),
        make_run_row(1100, "a", batch_size=1024),
        make_run_row(1000, "a", batch_size=512),
    ]
    for count, rate in ((1, 1200), (2, 1050), (3, 1100), (4, 1000)):
        rows = [make_run_row(900, "a", "b", batch_size=512), *others[:count]]
        (scaled,) = find_scaled_runs(rows)
        assert list_reference_rates(scaled) == [rate]


def make_scaled_rows() -> list[ResultRow]:
    """Two runs on two boards, of which one scales perfectly, and two runs on one."""
    return [
        make_run_row(1000, "a", "b"),
        make_run_row(900, "c", "d"),
        make_run_row(990, "a"),
        make_run_row(1010, "e"),
        make_run_row(5000, "f", cap_enforced=False),
    ]


def test_speed_up_is_that_of_the_mean_over_all_repeats() -> None:
    """Not that of the better one of two. By the rule book, two runs against two on other boards
    have a standard error of 1.5 %, and t = 2.145 for 14 degrees of freedom."""
    rows = make_scaled_rows()
    references = find_reference_runs(rows[0], rows)
    assert list(references) == rows[2:4]
    speed_up = estimate_speed_up(rows[:2], references, NO_REPEATS)
    assert (speed_up.mean, speed_up.n) == (pytest.approx(1.9), 2)
    ends = [1.9 * math.exp(sign * 2.145 * 0.015) for sign in (-1, 1)]
    assert speed_up.ci95 == pytest.approx(ends)
    # Of one run, the standard error is that of one run against two.
    single = estimate_speed_up(rows[:1], references, NO_REPEATS)
    assert single.mean == pytest.approx(2)
    ends = [2 * math.exp(sign * 2.145 * 0.015 * math.sqrt(1.5)) for sign in (-1, 1)]
    assert single.ci95 == pytest.approx(ends)
