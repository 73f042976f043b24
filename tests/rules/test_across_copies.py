"""Rules across the bundles of a round that find copies: series, repeats and patterns in common."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.rules.round_runs import other, run, said, with_headline

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
    own = run("a", 700)
    stolen = replace(own, path=Path("thief/system/b"), run_id="b")
    found = list(rules_by_id()["X102"].judge_round([own, stolen]))
    assert [path for path, _ in found] == 2 * [
        own.path,
        stolen.path,
    ]  # readings, and how late they were
    assert all("thief/system/b" in finding.found for path, finding in found if path == own.path)


def with_epochs(name: str, rates: list[float], powers_w: list[float]) -> RunSummary:
    return with_headline(
        replace(run(name, 700), epochs=tuple(zip(rates, powers_w, strict=True))),
        items_per_s_per_accelerator=estimate_mean(rates),
        mean_power_w_per_accelerator=estimate_mean(powers_w),
    )


def test_repeats_that_scatter_on_their_own_are_no_offence() -> None:
    for seed in range(200):
        random = np.random.default_rng(seed)
        drift = 1 + 0.003 * np.exp(-np.arange(10) / 3)  # both warm up alike
        one, two = (
            with_epochs(
                name,
                *((scale * drift * random.normal(1, 0.001, 10)).tolist() for scale in (7000, 690)),
            )
            for name in "ab"
        )
        assert said("X109", one, two) == [], seed


@pytest.mark.parametrize(("jitter", "expected"), [(1e-6, True), (2e-5, True), (1e-3, False)])
def test_epochs_of_another_run_with_jitter_are_too_equal(jitter: float, expected: bool) -> None:
    random = np.random.default_rng(8)
    rates, powers_w = random.normal(7000, 7, 10), random.normal(690, 0.7, 10)
    own = with_epochs("a", rates.tolist(), powers_w.tolist())
    stirred = (values * 1.004 * random.normal(1, jitter, 10) for values in (rates, powers_w))
    copied = with_epochs("b", *(values.tolist() for values in stirred))
    assert said("X109", own, copied) == (["a", "b"] if expected else [])
    assert said("X109", own, replace(copied, cap_w=600.0)) == []


def test_the_more_repeats_the_nearer_two_may_come() -> None:
    """Means that differ by 0.005 of their standard error: too equal of two runs, and not of ten,
    which make 45 pairs."""
    plain = with_epochs(
        "a", [7000.0 + (-1) ** n for n in range(10)], [690.0 + (-1) ** n for n in range(10)]
    )

    rate = plain.headline.items_per_s_per_accelerator

    def moved(name: str, by: float) -> RunSummary:
        return with_headline(
            replace(plain, path=Path("center/system") / name, epochs=plain.epochs[:4]),
            items_per_s_per_accelerator=replace(rate, mean=7000.0 + by),
            mean_power_w_per_accelerator=replace(rate, mean=690.0 + by),
        )

    assert rate.sd is not None
    error = 2**0.5 * rate.sd / 10**0.5
    near = [moved("a", 0.0), moved("b", 0.005 * error)]
    assert said("X109", *near) == ["a", "b"]
    assert said("X109", *near, *(moved(f"far-{n}", 10.0 * n) for n in range(1, 9))) == []


def test_repeat_on_a_system_of_another_name_may_have_the_same_seed() -> None:
    own, again = run("a", 700), other("b", seed=run("a", 700).seed, path=Path("center/another/b"))
    assert said("X110", own, again) == ["b"]
    renamed = tuple((name, "another" if name == "name" else value) for name, value in again.system)
    assert said("X110", own, replace(again, system=renamed)) == []


# X112: copies with a disguise.


def up_and_down(power_w: np.ndarray) -> frozenset[int]:
    return fingerprint_patterns(find_patterns(power_w))


def test_patterns_outlast_a_disguise_and_no_two_series_share_them() -> None:
    random = np.random.default_rng(5)
    power_w = random.normal(690, 20, 3000)
    own = up_and_down(power_w)
    assert len(own) == MAX_FINGERPRINTS
    assert len(own & up_and_down(power_w * 0.97 + 3)) == MAX_FINGERPRINTS
    assert len(own & up_and_down(power_w + random.normal(0, 0.3, 3000))) >= 4
    assert len(own & up_and_down(power_w[1500:])) >= 4
    assert not own & up_and_down(random.normal(690, 20, 3000))
    assert up_and_down(power_w[:64]) == frozenset()


def test_pattern_that_a_series_has_twice_does_not_stand_for_it() -> None:
    one, other, third = find_patterns(np.random.default_rng(7).normal(690, 20, 67)).tolist()
    assert len(fingerprint_patterns(np.array([third, other], dtype=np.uint64))) == 2
    assert fingerprint_patterns(
        np.array([one, other, one, third], dtype=np.uint64)
    ) == fingerprint_patterns(np.array([third, other], dtype=np.uint64))


def test_patterns_of_batches_in_phase_with_the_sampling_are_left_out() -> None:
    random = np.random.default_rng(6)
    swing = np.resize([700, 500, 640, 720, 480, 610, 560], 3000)
    quiet, same = (swing + random.normal(0, 2, 3000) for _ in range(2))
    assert irregular(quiet) == irregular(same) == 0
    burst = quiet.copy()
    burst[1000:1500] = random.normal(690, 20, 500)
    assert 300 < irregular(burst) < 600
    assert irregular(np.full(3000, 700.0)) == 0


def irregular(power_w: np.ndarray) -> int:
    return int((~repeat_themselves(find_patterns(power_w))).sum())


@pytest.mark.parametrize(("shared", "expected"), [(3, []), (4, ["a", "b"])])
def test_few_patterns_in_common_are_no_copy(shared: int, expected: list[str]) -> None:
    one, two = (
        replace(run("a", 700), patterns=frozenset(range(16))),
        other("b", patterns=frozenset(range(16 - shared, 32 - shared))),
    )
    assert said("X112", one, two) == expected
    assert said("X112", one, replace(two, standing="demo")) == []


def test_copy_is_told_with_the_run_that_has_most_of_it() -> None:
    copied = replace(run("c", 700), patterns=frozenset(range(16)))
    little, much = (
        other(name, patterns=frozenset(part))
        for name, part in (("a", range(4)), ("b", range(4, 16)))
    )
    found = {
        path.name: finding.found
        for path, finding in rules_by_id()["X112"].judge_round([little, much, copied])
    }
    assert found["c"].startswith("16 of 16") and found["c"].endswith("most in center/system/b")
    assert found["a"].endswith("most in center/system/c")
