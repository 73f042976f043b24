"""Rules across the bundles of a round that find copies: series, repeats and patterns in common."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.rules.round_runs import (
    list_reported_runs,
    make_other_summary,
    make_summary,
    replace_headline,
)

from rules.copies import noise
from rules.fingerprints import (
    LIMIT,
    MIN_DISTINCT,
    SEQUENCES_KEPT,
    sample_sequences,
    take_noise,
)
from rules.metrics.figures import estimate_mean
from rules.metrics.power.series import SIGNS, find_patterns, hash_windows, repeat_themselves
from rules.registry import rules_by_id
from rules.run_summary import RunSummary

SALT = 0x5EED


def test_part_of_a_series_shares_sequences_wherever_it_stands() -> None:
    random = np.random.default_rng(3)
    series = random.integers(600_000, 700_000, 6000)
    shifted = np.concatenate([random.integers(600_000, 700_000, 700), series[500:5000]])
    sequences = sample_sequences([series], SALT)
    assert np.isin(sequences, sample_sequences([shifted], SALT)).mean() > 0.5
    assert not np.isin(sequences, sample_sequences([series + 1], SALT)).any()
    assert not np.isin(sequences, sample_sequences([series], SALT + 1)).any()
    assert len(series) / SEQUENCES_KEPT / 2 < len(sequences) < len(series) / SEQUENCES_KEPT * 2


def test_few_values_that_alternate_are_no_sequence() -> None:
    values = np.arange(MIN_DISTINCT - 1)
    assert len(sample_sequences([np.tile(values, 5000)], SALT)) == 0
    assert len(sample_sequences([values], SALT)) == 0


def test_sequences_that_count_depend_on_the_salt_alone() -> None:
    """Over many salts, each sequence counts about as often as any other."""
    series = np.random.default_rng(4).integers(600_000, 700_000, 500)
    hashes = [hash_windows(series, salt) for salt in range(1000, 1020)]
    assert len(np.unique(np.concatenate(hashes))) == 20 * len(hashes[0])
    counts = [len(sample_sequences([series], salt)) for salt in range(2000)]
    assert np.mean(counts) == pytest.approx(len(hashes[0]) / SEQUENCES_KEPT, rel=0.05)


def replace_fingerprints(run: RunSummary, **fields: Any) -> RunSummary:
    return replace(run, fingerprints=replace(run.fingerprints, **fields))


def make_copy(name: str = "thief/system/b", **changes: Any) -> RunSummary:
    """A later copy of the good run, by another center."""
    fields = {"path": Path(name), "run_id": "b", "center": name.split("/")[0]}
    return replace(make_summary("a", 700), **{**fields, **changes})


def test_copy_is_reported_with_what_it_shares() -> None:
    summary, stolen = make_summary("a", 700), make_copy()
    violations = list(rules_by_id()["X102"].judge_round([summary, stolen]))
    assert [path for path, _ in violations] == 4 * [stolen.path, summary.path]
    assert {finding.found for path, finding in violations if path == summary.path} == {
        f"100% of the sequences of 32 {name} occur in thief/system/b"
        for name in (
            "power readings",
            "delays of readings",
            "steps of the energy counter",
            "SM clocks",
        )
    }


@pytest.mark.parametrize(
    ("original", "copied", "reported"),
    [
        ({}, {}, {"a", "b"}),
        ({}, {"center": "center"}, {"b"}),
        ({"until_s": 2e9}, {"center": "center"}, {"a"}),
        ({"log_line": 3}, {"until_s": 0.0}, {"b"}),
        ({"log_line": 3}, {"log_line": 2}, {"a"}),
        ({"log_line": 3, "until_s": 2e9}, {"log_line": 4}, {"b"}),
        ({"withdrawn": True, "until_s": 2e9}, {"center": "center"}, {"b"}),
        ({"until_s": float("nan")}, {"center": "center"}, {"a"}),
    ],
)
@pytest.mark.parametrize("rule", ["X102", "X103", "X112"])
def test_later_of_two_runs_is_the_copy(
    rule: str, original: dict[str, Any], copied: dict[str, Any], reported: set[str]
) -> None:
    """By the LOG, and within a center by the end of the run. The dates of two centers decide
    nothing."""
    runs = [replace(make_summary("a", 700), **original), make_copy(**copied)]
    for order in (runs, runs[::-1]):
        assert set(list_reported_runs(rule, *order)) == reported


def test_copy_is_reported_with_the_run_that_shares_most() -> None:
    sequences = np.arange(160, dtype=np.uint64)
    runs = [
        replace_fingerprints(
            replace(make_summary("a", 700), path=Path("center/system") / name, log_line=line),
            readings=sequences[part],
        )
        for line, (name, part) in enumerate(
            [("little", slice(0, 40)), ("most", slice(40, 160)), ("copy", slice(0, 160))], start=1
        )
    ]
    (finding,) = (
        finding
        for path, finding in rules_by_id()["X102"].judge_round(runs)
        if path.name == "copy" and "power readings" in finding.found
    )
    assert finding.found == (
        "75% of the sequences of 32 power readings occur in center/system/most"
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


# X112: copies with a disguise. tests/rules/test_copies.py copies measured runs.


def make_noise_summary(name: str, power_w: np.ndarray, **fields: Any) -> RunSummary:
    """A run of `center` with these readings and no batches."""
    return replace_fingerprints(
        replace(make_summary(name, 700), path=Path("center/system") / name, **fields),
        power_noise=(take_noise(power_w, SALT),),
        duration_noise=(),
    )


@pytest.mark.parametrize("is_large_round", [False, True])
@pytest.mark.parametrize(
    ("disguise", "expected"),
    [
        (lambda power_w, random: power_w * 0.97 + 3, ["b"]),
        (lambda power_w, random: power_w + random.normal(0, 5, len(power_w)), ["b"]),
        (lambda power_w, random: power_w[1500:], ["b"]),
        (lambda power_w, random: np.append(random.normal(690, 20, 1500), power_w[:1400]), ["b"]),
        (lambda power_w, random: np.delete(power_w, np.s_[::100]), ["b"]),
        (lambda power_w, random: power_w[:90], []),
        (lambda power_w, random: power_w + random.normal(0, 60, len(power_w)), []),
        (lambda power_w, random: random.permutation(power_w), []),
        (lambda power_w, random: np.full(len(power_w), 690.0), []),
    ],
)
def test_noise_outlasts_a_disguise(
    disguise: Any, expected: list[str], is_large_round: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_large_round:
        monkeypatch.setattr(noise, "MAX_EXHAUSTIVE", 0)
    random = np.random.default_rng(5)
    power_w = random.normal(690, 20, 3000)
    runs = [
        make_noise_summary("a", power_w),
        make_noise_summary("b", disguise(power_w, random)),
        make_noise_summary("c", random.normal(690, 20, 3000)),
    ]
    assert list_reported_runs("X112", *runs) == expected
    demos = [replace(run, standing="demo") for run in runs]
    assert list_reported_runs("X112", *demos) == []


def test_large_rounds_are_compared_within_small_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy with so much jitter that no pattern remains is found by correlation alone."""
    monkeypatch.setattr(noise, "MAX_EXHAUSTIVE", 2)
    random = np.random.default_rng(6)
    power_w = random.normal(690, 20, 3000)
    pair = [
        make_noise_summary("a", power_w, setting=("small",)),
        make_noise_summary("b", power_w + random.normal(0, 13, 3000), setting=("small",)),
    ]
    others = [
        make_noise_summary(f"other-{i}", random.normal(690, 20, 3000), setting=("large",))
        for i in range(3)
    ]
    assert list_reported_runs("X112", *pair, *others) == ["b"]
    moved = replace(pair[1], setting=("large",))
    assert list_reported_runs("X112", pair[0], moved, *others) == []


def test_patterns_of_batches_in_phase_with_the_sampling_are_left_out() -> None:
    random = np.random.default_rng(6)
    swing = np.resize([700, 500, 640, 720, 480, 610, 560], 3000)
    quiet = swing + random.normal(0, 2, 3000)
    assert count_irregular_patterns(quiet) == len(take_noise(quiet, SALT).patterns) == 0
    burst = quiet.copy()
    burst[1000:1400] = random.normal(690, 20, 400)
    assert 300 < count_irregular_patterns(burst) == len(take_noise(burst, SALT).patterns) < 600
    assert count_irregular_patterns(np.full(3000, 700.0)) == 0


def test_beat_that_all_runs_of_a_workload_share_is_no_copy() -> None:
    """Batches of 167 ms beside readings every 100 ms, as on two H100s."""
    random = np.random.default_rng(8)
    beat_w = 60 * np.sin(2 * np.pi * np.arange(3000) / 1.6749) + 25 * np.cos(np.arange(3000) * 3.75)
    first_w, other_w = (690 + beat_w + random.normal(0, 12, 3000) for _ in range(2))
    assert np.corrcoef(np.diff(first_w), np.diff(other_w))[0, 1] > 0.9
    first, other = make_noise_summary("a", first_w), make_noise_summary("b", other_w)
    assert list_reported_runs("X112", first, other) == []
    copied = make_noise_summary("b", first_w[::-1] + random.normal(0, 5, 3000))
    assert list_reported_runs("X112", first, copied) == ["b"]


def count_irregular_patterns(power_w: np.ndarray) -> int:
    return int((~repeat_themselves(find_patterns(power_w))).sum())


def test_shared_patterns_are_counted_where_the_series_agree() -> None:
    differences = np.random.default_rng(7).integers(-100, 100, 300).astype(np.int8)
    altered = differences.copy()
    altered[[80, 200]] = -altered[[80, 200]]
    assert noise.count_shared_patterns(differences, differences) == 300 - SIGNS + 1
    assert noise.count_shared_patterns(differences, altered) == (
        (80 - SIGNS + 1) + (119 - SIGNS + 1) + (99 - SIGNS + 1)
    )
    assert noise.count_shared_patterns(differences, -differences) == 0


def test_noise_keeps_the_direction_of_the_smallest_step() -> None:
    values = np.cumsum(np.tile([1000.0, -1000.0, 0.01, -0.02, 0.0], 40))
    differences = take_noise(values, SALT).differences
    assert (np.sign(differences) == np.sign(np.diff(values))).all()
    assert np.abs(differences).max() == LIMIT
