"""Rules across the bundles of a round that find copies: series, repeats and patterns in common."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.rules.round_runs import (
    list_reported_runs,
    make_other_summary,
    make_summary,
    replace_headline,
)

from rules.fingerprints import (
    MAX_FINGERPRINTS,
    MIN_DISTINCT,
    fingerprint_patterns,
    fingerprint_values,
)
from rules.metrics.figures import estimate_mean
from rules.metrics.power_series import IN_A_ROW, find_patterns, repeat_themselves
from rules.registry import rules_by_id
from rules.run_summary import RunSummary


def test_part_of_a_series_shares_fingerprints_wherever_it_stands() -> None:
    random = np.random.default_rng(3)
    series = random.integers(600_000, 700_000, 3000)
    shifted = np.concatenate([random.integers(600_000, 700_000, 700), series[500:2500]])
    assert fingerprint_values(series) & fingerprint_values(shifted)
    assert not fingerprint_values(series) & fingerprint_values(series + 1)
    assert len(fingerprint_values(series)) == MAX_FINGERPRINTS
    assert fingerprint_values(series[: IN_A_ROW - 1]) == frozenset()
    assert fingerprint_values(np.tile(series[: MIN_DISTINCT - 1], 500)) == frozenset()


def test_copy_of_another_center_is_told_of_both() -> None:
    summary = make_summary("a", 700)
    stolen = replace(summary, path=Path("thief/system/b"), run_id="b")
    violations = list(rules_by_id()["X102"].judge_round([summary, stolen]))
    assert [path for path, _ in violations] == 2 * [
        summary.path,
        stolen.path,
    ]  # readings, and how late they were
    assert all(
        "thief/system/b" in finding.found for path, finding in violations if path == summary.path
    )


def make_summary_of_epochs(name: str, rates: list[float], powers_w: list[float]) -> RunSummary:
    return replace_headline(
        replace(make_summary(name, 700), epochs=tuple(zip(rates, powers_w, strict=True))),
        items_per_s_per_accelerator=estimate_mean(rates),
        mean_power_w_per_accelerator=estimate_mean(powers_w),
    )


def test_repeats_that_scatter_on_their_own_are_no_offence() -> None:
    for seed in range(200):
        random = np.random.default_rng(seed)
        drift = 1 + 0.003 * np.exp(-np.arange(10) / 3)  # both warm up alike
        summary, other_summary = (
            make_summary_of_epochs(
                name,
                *((scale * drift * random.normal(1, 0.001, 10)).tolist() for scale in (7000, 690)),
            )
            for name in "ab"
        )
        assert list_reported_runs("X109", summary, other_summary) == [], seed


@pytest.mark.parametrize(("jitter", "expected"), [(1e-6, True), (2e-5, True), (1e-3, False)])
def test_epochs_of_another_run_with_jitter_are_too_equal(jitter: float, expected: bool) -> None:
    random = np.random.default_rng(8)
    rates, powers_w = random.normal(7000, 7, 10), random.normal(690, 0.7, 10)
    summary = make_summary_of_epochs("a", rates.tolist(), powers_w.tolist())
    stirred = (values * 1.004 * random.normal(1, jitter, 10) for values in (rates, powers_w))
    copied = make_summary_of_epochs("b", *(values.tolist() for values in stirred))
    assert list_reported_runs("X109", summary, copied) == (["a", "b"] if expected else [])
    assert list_reported_runs("X109", summary, replace(copied, cap_w=600.0)) == []


def test_the_more_repeats_the_nearer_two_may_come() -> None:
    """Means that differ by 0.005 of their standard error: too equal of two runs, and not of ten,
    which make 45 pairs."""
    plain = make_summary_of_epochs(
        "a", [7000.0 + (-1) ** n for n in range(10)], [690.0 + (-1) ** n for n in range(10)]
    )

    rate = plain.headline.items_per_s_per_accelerator

    def moved(name: str, shift_s: float) -> RunSummary:
        return replace_headline(
            replace(plain, path=Path("center/system") / name, epochs=plain.epochs[:4]),
            items_per_s_per_accelerator=replace(rate, mean=7000.0 + shift_s),
            mean_power_w_per_accelerator=replace(rate, mean=690.0 + shift_s),
        )

    assert rate.sd is not None
    error = 2**0.5 * rate.sd / 10**0.5
    near = [moved("a", 0.0), moved("b", 0.005 * error)]
    assert list_reported_runs("X109", *near) == ["a", "b"]
    assert (
        list_reported_runs("X109", *near, *(moved(f"far-{n}", 10.0 * n) for n in range(1, 9))) == []
    )


def test_repeat_on_a_system_of_another_name_may_have_the_same_seed() -> None:
    summary, repeat = (
        make_summary("a", 700),
        make_other_summary("b", seed=make_summary("a", 700).seed, path=Path("center/another/b")),
    )
    assert list_reported_runs("X110", summary, repeat) == ["b"]
    renamed = tuple((name, "another" if name == "name" else value) for name, value in repeat.system)
    assert list_reported_runs("X110", summary, replace(repeat, system=renamed)) == []


# X112: copies with a disguise.


def fingerprint_series(power_w: np.ndarray) -> frozenset[int]:
    return fingerprint_patterns(find_patterns(power_w))


def test_patterns_outlast_a_disguise_and_no_two_series_share_them() -> None:
    random = np.random.default_rng(5)
    power_w = random.normal(690, 20, 3000)
    patterns = fingerprint_series(power_w)
    assert len(patterns) == MAX_FINGERPRINTS
    assert len(patterns & fingerprint_series(power_w * 0.97 + 3)) == MAX_FINGERPRINTS
    assert len(patterns & fingerprint_series(power_w + random.normal(0, 0.3, 3000))) >= 4
    assert len(patterns & fingerprint_series(power_w[1500:])) >= 4
    assert not patterns & fingerprint_series(random.normal(690, 20, 3000))
    assert fingerprint_series(power_w[:64]) == frozenset()


def test_pattern_that_a_series_has_twice_does_not_stand_for_it() -> None:
    patterns, other_patterns, third = find_patterns(
        np.random.default_rng(7).normal(690, 20, 67)
    ).tolist()
    assert len(fingerprint_patterns(np.array([third, other_patterns], dtype=np.uint64))) == 2
    assert fingerprint_patterns(
        np.array([patterns, other_patterns, patterns, third], dtype=np.uint64)
    ) == fingerprint_patterns(np.array([third, other_patterns], dtype=np.uint64))


def test_patterns_of_batches_in_phase_with_the_sampling_are_left_out() -> None:
    random = np.random.default_rng(6)
    swing = np.resize([700, 500, 640, 720, 480, 610, 560], 3000)
    quiet, similar_series = (swing + random.normal(0, 2, 3000) for _ in range(2))
    assert count_irregular_patterns(quiet) == count_irregular_patterns(similar_series) == 0
    burst = quiet.copy()
    burst[1000:1500] = random.normal(690, 20, 500)
    assert 300 < count_irregular_patterns(burst) < 600
    assert count_irregular_patterns(np.full(3000, 700.0)) == 0


def count_irregular_patterns(power_w: np.ndarray) -> int:
    return int((~repeat_themselves(find_patterns(power_w))).sum())


@pytest.mark.parametrize(("shared", "expected"), [(3, []), (4, ["a", "b"])])
def test_few_patterns_in_common_are_no_copy(shared: int, expected: list[str]) -> None:
    summary, other_summary = (
        replace(make_summary("a", 700), patterns=frozenset(range(16))),
        make_other_summary("b", patterns=frozenset(range(16 - shared, 32 - shared))),
    )
    assert list_reported_runs("X112", summary, other_summary) == expected
    assert list_reported_runs("X112", summary, replace(other_summary, standing="demo")) == []


def test_copy_is_told_with_the_run_that_has_most_of_it() -> None:
    copied = replace(make_summary("c", 700), patterns=frozenset(range(16)))
    little, long_copy = (
        make_other_summary(name, patterns=frozenset(part))
        for name, part in (("a", range(4)), ("b", range(4, 16)))
    )
    violations = {
        path.name: finding.found
        for path, finding in rules_by_id()["X112"].judge_round([little, long_copy, copied])
    }
    assert violations["c"].startswith("16 of 16") and violations["c"].endswith(
        "most in center/system/b"
    )
    assert violations["a"].endswith("most in center/system/c")
