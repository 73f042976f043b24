"""Pareto fronts, their tables, scores and naive estimates."""

import pytest
from support.rules.model_results import SETUP, in_setup, make_result

from rules.studies.metrics.comparisons import compare_setups, keep_common, merge_weights
from rules.studies.metrics.fronts import (
    compute_centres,
    compute_decades,
    compute_levels,
    find_front,
    mean_accuracy_pct,
)
from rules.studies.metrics.naive import NaiveEstimate, choose_estimates, compare_with_naive
from rules.studies.metrics.scores import (
    compute_score,
    find_energy_range,
    rank_by_accuracy_per_joule,
    rank_by_score,
)

MODELS = [
    make_result("large", 1.0, 88.0, model_class="transformer"),
    make_result("small", 0.01, 70.0),
    make_result("middle", 0.05, 80.0),
    make_result("wasteful", 0.5, 79.0),
    make_result("equal-energy", 0.05, 79.5),
    make_result("equal-accuracy", 0.06, 80.0),
    make_result("unknown", 0.001),
]


def test_front_has_no_model_that_another_beats() -> None:
    front = find_front(MODELS)
    assert [result.architecture for result in front] == ["small", "middle", "large"]
    assert find_front(list(reversed(MODELS))) == front


def test_levels_give_the_least_energy_for_an_accuracy() -> None:
    levels = {level.accuracy_pct: level for level in compute_levels(MODELS)}
    assert max(levels) == 88
    names = {pct: level.result.architecture for pct, level in levels.items()}
    assert (names[40], names[70], names[75], names[80], names[83]) == (
        "small",
        "small",
        "middle",
        "middle",
        "large",
    )
    # More than 2.5 % of the bootstrap samples lack the one model above 83 %.
    assert levels[83].joules_ci95 is None
    # Less than 2.5 % lack all three of the models with 0.05 and 0.06 J.
    assert levels[75].joules_ci95 == (0.05, 0.06)


def test_decades_give_the_accuracy_within_a_factor_of_the_least_energy() -> None:
    decades = compute_decades(MODELS)
    assert [(d.factor, d.limit_joules, d.accuracy_pct) for d in decades] == [
        (1, 0.01, 70),
        (10, 0.1, 80),
        (100, 1.0, 88),
    ]
    assert decades[2].ci95 == (80, 88)
    assert decades[0].ci95 is None


def test_no_accuracy_gives_no_front() -> None:
    assert find_front(MODELS[-1:]) == compute_levels(MODELS[-1:]) == compute_decades([]) == ()


def test_accuracy_is_the_mean_of_the_chosen_sets() -> None:
    result = make_result("any", 1.0, 80.0)
    assert mean_accuracy_pct(result) == 80
    assert mean_accuracy_pct(result, ("imagenet", "sketch")) is None


def test_centres_are_geometric_in_energy() -> None:
    cnn, transformer = compute_centres([MODELS[0], MODELS[1], make_result("b", 1.0, 90.0)])
    assert (cnn.model_class, cnn.accuracy_pct) == ("cnn", 80)
    assert cnn.joules_per_image.value == pytest.approx(0.1)
    assert (transformer.model_class, transformer.joules_per_image.n) == ("transformer", 1)


def test_scores_scale_energy_by_all_models_of_the_setup() -> None:
    energies = find_energy_range(MODELS)
    assert (energies.least_joules, energies.largest_joules) == (0.001, 1.0)
    assert compute_score(0.5, 80, 0.5, energies) == 100 - (0.5 * 50 + 0.5 * 20)
    assert compute_score(0.5, 80, 0.5, energies, "printed") == 100 - (0.5 * 0.5 + 0.5 * 20)
    assert compute_score(0.1, 80, 0.25, energies, "log") == pytest.approx(
        100 - (0.25 * 200 / 3 + 0.75 * 20)
    )
    # Without the model of the largest energy, the scores of the others stay.
    ranks = rank_by_score(MODELS[1:], 0.5, energies)
    assert ranks[0].result.architecture == "middle"
    assert ranks[0].score == pytest.approx(100 - (2.5 + 10))
    assert len(ranks) == 5


def test_accuracy_per_joule_needs_a_least_accuracy() -> None:
    ranks = rank_by_accuracy_per_joule(MODELS, 80)
    assert [rank.result.architecture for rank in ranks] == ["middle", "equal-accuracy", "large"]
    assert ranks[0].score == pytest.approx(1600)


def test_naive_estimate_names_what_it_divides_by() -> None:
    results = [make_result("a", 0.02, flops=1e12), make_result("b", 0.08, flops=1e12)]
    comparison = compare_with_naive(results, NaiveEstimate(100, "bf16 peak", 500))
    assert comparison is not None
    assert comparison.denominator == ("FLOPs (multiply-add = 2) / 100 TFLOP/s (bf16 peak) x 500 W")
    # 1e12 FLOPs take 10 ms, so 5 J.
    assert comparison.factor.value == pytest.approx(0.04 / 5)
    halved = compare_with_naive(results, NaiveEstimate(100, "bf16 peak", 500, 1))
    assert halved is not None
    assert halved.factor.value == pytest.approx(2 * comparison.factor.value)
    assert compare_with_naive([make_result("a", 1)], NaiveEstimate(1, "", 1)) is None


def test_naive_estimate_uses_peak_of_the_precision_and_cap() -> None:
    (estimate,) = choose_estimates(SETUP)
    assert (estimate.peak_tflops, estimate.peak_name, estimate.power_w) == (989.4, "bf16 peak", 700)
    default = in_setup(MODELS[0], precision="tf32-conv").setup
    assert [e.peak_name for e in choose_estimates(default)] == ["fp32 peak", "tf32 peak"]
    assert choose_estimates(in_setup(MODELS[0], cap_w=None).setup) == ()
    assert choose_estimates(in_setup(MODELS[0], board="unknown").setup) == ()


def test_setups_are_compared_over_common_models() -> None:
    slow = [
        in_setup(make_result(n, j), precision="fp32") for n, j in (("a", 4), ("b", 6), ("c", 1))
    ]
    fast = [make_result("b", 2), make_result("a", 1), make_result("a", 1, size=288)]
    comparison = compare_setups(slow, fast)
    assert comparison is not None
    assert (comparison.numerator.precision, comparison.denominator.precision) == ("fp32", "bf16")
    assert comparison.energy_ratio.n == 2
    assert comparison.energy_ratio.value == pytest.approx(12**0.5)
    assert comparison.throughput_ratio.value == pytest.approx(1)
    # Ratios of 4 and 3.
    assert comparison.energy_difference.value == pytest.approx(2.5)
    assert compare_setups(slow[2:], fast) is None
    common = keep_common({slow[0].setup: slow, SETUP: fast})
    assert [r.architecture for r in common[SETUP]] == ["b", "a"]


def test_merged_weights_are_those_of_the_median_energy() -> None:
    results = [make_result("a", joules, tag=f"w{joules}") for joules in (3, 1, 9, 2)]
    merged = merge_weights([*results, make_result("a", 7, size=288, tag="w7")])
    assert [(r.size, r.tag, r.best.joules_per_image) for r in merged] == [
        (224, None, 2),
        (288, None, 7),
    ]
