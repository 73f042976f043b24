"""Arithmetic of comparisons and what-ifs."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import copy_evidence

from reporting.sections.planning import build_what_if_table
from rules.bundle import Bundle
from rules.metrics.comparison import (
    accelerators_needed,
    compare_with_baseline,
    compare_with_original,
    relative_percent,
    score,
    site_kwh,
)
from rules.metrics.figures import Estimate, Headline
from rules.metrics.run import mean_clocks


@pytest.mark.parametrize(
    ("value", "ci95", "limit_percent", "text"),
    [
        (110, (109, 111), 3.8, "higher"),
        (90, (89, 91), 3.8, "lower"),
        (102, (101.5, 102.5), 1.9, "higher"),
        (102, (101.5, 102.5), 3.8, "within board spread"),
        (103.7, (103.5, 103.9), 3.8, "within board spread"),
        (103.9, (103.7, 104.1), 3.8, "higher"),
        (96.3, (96.1, 96.5), 3.8, "within board spread"),
        (96.1, (95.9, 96.3), 3.8, "lower"),
        (101, (100.9, 101.1), 0.5, "intervals overlap"),
        (102, (101, 103), 0.5, "intervals overlap"),
        (98, (97, 99), 0.5, "intervals overlap"),
        (110, None, 0.5, "no interval"),
    ],
)
def test_difference_counts_where_intervals_do_not_touch_and_it_reaches_the_limit(
    value: float, ci95: tuple[float, float] | None, limit_percent: float, text: str
) -> None:
    assert compare_with_baseline(value, ci95, 100, (99, 101), limit_percent) == text


def test_difference_as_large_as_the_limit_counts() -> None:
    """No float differs from another by exactly 4.6 %, so 25 % takes its place here."""
    assert compare_with_baseline(125, (124, 126), 100, (99, 101), 25) == "higher"
    assert compare_with_baseline(124, (123, 125), 100, (99, 101), 25) == "within board spread"


def test_no_interval_of_the_baseline_tells_nothing() -> None:
    assert compare_with_baseline(110, (109, 111), 100, None, 0) == "no interval"


@pytest.fixture
def original() -> Headline:
    headline = Bundle(Path("a/b/c"), (), copy_evidence().evidence()).figures.headline
    return set_means(headline, items_per_s=100.0, joules_per_item=100.0)


def set_means(headline: Headline, half_width: float | None = 0.5, **means: float) -> Headline:
    """The headline with other means and intervals, items/s per accelerator."""
    values = {
        name: Estimate(
            mean, 10, 0.7, None if half_width is None else (mean - half_width, mean + half_width)
        )
        for name, mean in means.items()
    }
    speed = values.pop("items_per_s", headline.items_per_s_per_accelerator)
    return replace(headline, items_per_s_per_accelerator=speed, **values)


@pytest.mark.parametrize(
    ("items_per_s", "joules_per_item", "half_width", "agrees"),
    [
        (104.5, 95.5, 0.5, True),
        (104.8, 100.0, 0.1, False),
        (104.8, 100.0, 5.0, True),
        (100.0, 95.2, 0.1, False),
        (95.2, 104.8, 0.1, False),
        (104.5, 95.5, None, True),
        (104.7, 100.0, None, False),
    ],
)
def test_reproduction_agrees_within_the_board_spread_or_the_intervals(
    original: Headline,
    items_per_s: float,
    joules_per_item: float,
    half_width: float | None,
    agrees: bool,
) -> None:
    result = set_means(
        original, half_width, items_per_s=items_per_s, joules_per_item=joules_per_item
    )
    difference = compare_with_original(result, original)
    assert difference is not None
    assert difference.items_per_s_percent == pytest.approx(items_per_s - 100)
    assert difference.joules_per_item_percent == pytest.approx(joules_per_item - 100)
    assert difference.agrees is agrees


def test_original_without_work_or_energy_gives_no_relative_difference(original: Headline) -> None:
    assert compare_with_original(original, set_means(original, items_per_s=0.0)) is None
    difference = compare_with_original(original, set_means(original, joules_per_item=0.0))
    assert difference is not None and difference.joules_per_item_percent is None
    difference = compare_with_original(replace(original, joules_per_item=None), original)
    assert difference is not None and difference.joules_per_item_percent is None


def test_relative_figure_cost_and_load() -> None:
    assert relative_percent(75, 100) == pytest.approx(-25)
    assert site_kwh(3.6, 1e6, 1.5) == pytest.approx(1.5)
    assert accelerators_needed(86.4, 1000) == 1
    assert accelerators_needed(86.5, 1000) == 2


def test_score_as_printed_moves_with_energy_by_one_point_at_most() -> None:
    assert score(2, 2, 0, 1, "printed") == 99
    assert score(2, 2, 0, 1, "equal") == 0
    assert score(1, 2, 80, 0.5, "equal") == pytest.approx(100 - (0.5 * 50 + 0.5 * 20))


def make_good_evidence() -> Bundle:
    return Bundle(Path("good"), (), copy_evidence().evidence())


def test_clocks_are_means_over_scored_epochs() -> None:
    bundle = make_good_evidence()
    assert bundle.figures is not None
    epochs = list(bundle.figures.epochs)
    scored = [
        np.mean([a.mean_sm_mhz for a in epoch.accelerators]) for epoch in epochs if epoch.scored
    ]
    clock = mean_clocks(epochs).sm_mhz
    assert clock is not None and (clock.mean, clock.n) == (pytest.approx(np.mean(scored)), 10)
    first, *other_accelerators = epochs[3].accelerators
    unread = replace(first, mean_mem_mhz=None)
    epochs[3] = replace(epochs[3], accelerators=(unread, *other_accelerators))
    assert mean_clocks(epochs).mem_mhz is None
    assert mean_clocks(epochs).sm_mhz == clock


def test_what_if_without_results_is_no_table() -> None:
    assert build_what_if_table([], str) is None
