"""Rules across the bundles of a round: what they see, of whom they speak, and that a bundle alone
is judged as before."""

import pickle
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Submissions, fresh_evidence
from support.bundles import UUIDS, another_run, rederive

from checker.engine import judge, judge_all
from checker.verdict import INTERNAL
from rules.bundle import Bundle
from rules.declarations import SweepLabel
from rules.finding import Finding
from rules.fingerprints import (
    MAX_FINGERPRINTS,
    MIN_DISTINCT,
    fingerprint_patterns,
    fingerprint_values,
)
from rules.metrics.figures import Estimate, Headline, MeanClocks, estimate_mean
from rules.metrics.power_series import IN_A_ROW, find_patterns, repeat_themselves
from rules.registry import round_rules, rules_by_id
from rules.run_summary import RunSummary, submission_key, summarize
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import declare_cap

POWER = ("power_mw", "power_avg_mw", "energy_mj")


def at_cap(cap_w: float, power: float = 1.0, clock: float = 1.0, **settings: Any) -> EvidenceFrames:
    """A good run under another cap, with its power and its clock as multiples of what they are at
    700 W."""
    evidence = another_run(fresh_evidence(), number=round(cap_w) // 10)
    for column in POWER:
        evidence.samples[column] = (evidence.samples[column] * power).round()
    evidence.samples["sm_mhz"] = (evidence.samples["sm_mhz"] * clock).round()
    evidence.result["settings"].update(settings)
    declare_cap(evidence, cap_w)
    rederive(evidence)
    return evidence


def run(
    name: str, cap_w: float, evidence: EvidenceFrames | None = None, **figures: float
) -> RunSummary:
    """The digest of a run at that cap; `figures` are multiples of its means."""
    found = of_evidence(evidence) if evidence else good()
    headline = {
        key: scaled(estimate, figures.pop(key, 1.0))
        for key, estimate in vars(found.headline).items()
    }
    clocks = {
        key: scaled(estimate, figures.pop(f"mean_{key}", 1.0))
        for key, estimate in vars(found.clocks).items()
    }
    assert not figures, "there is no such figure"
    return replace(
        found,
        path=Path("center/system") / name,
        run_id=name,
        cap_w=cap_w,
        headline=Headline(**headline),
        clocks=MeanClocks(**clocks),
    )


def scaled(estimate: Estimate, factor: float) -> Estimate:
    assert estimate.ci95 is not None
    low, high = estimate.ci95
    return replace(estimate, mean=estimate.mean * factor, ci95=(low * factor, high * factor))


def with_headline(run: RunSummary, **estimates: Estimate) -> RunSummary:
    return replace(run, headline=replace(run.headline, **estimates))


def of_evidence(evidence: EvidenceFrames) -> RunSummary:
    found = summarize(Bundle(Path("center/system/run"), (), evidence.evidence()))
    assert found is not None
    return found


@cache
def good() -> RunSummary:
    return of_evidence(fresh_evidence())


def marked(*runs: RunSummary) -> list[str]:
    return [path.name for path, _ in rules_by_id()["X101"].judge_round(runs)]


def all_findings(root: Path) -> dict[str, list[Finding]]:
    """By the bundle's name; what statistics say of readings that a test has scaled is left out."""
    statistical = {rule.id for rule in rules_by_id().values() if rule.statistical}
    return {
        v.path.name: [f for f in v.findings if f.rule not in statistical]
        for v in judge_all([root]).verdicts
    }


# X101: two caps that give the same.


def test_cap_without_effect_is_told_of_the_lower_cap_and_names_the_other(
    submissions: Submissions,
) -> None:
    submissions.add(at_cap(675), "lower-cap")
    submissions.add(at_cap(700), "higher-cap")
    found = all_findings(submissions.root)
    assert found["higher-cap"] == []
    (finding,) = found["lower-cap"]
    assert finding.rule == "X101"
    assert "at 675 W" in finding.found and "at 700 W (example/h200x2/higher-cap)" in finding.found
    assert judge(submissions.root / "example/h200x2/lower-cap").findings == ()


def test_caps_that_are_kept_give_no_finding(submissions: Submissions) -> None:
    for cap_w in (500, 600, 700):
        submissions.add(
            at_cap(cap_w, power=cap_w / 700, clock=(cap_w / 700) ** 0.5), f"cap-of-{cap_w}-w"
        )
    assert not any(all_findings(submissions.root).values())


def test_any_figure_that_differs_shows_that_the_cap_works() -> None:
    assert marked(run("a", 400), run("b", 500)) == ["a"]
    for name in ("mean_power_w_per_accelerator", "mean_sm_mhz", "items_per_s_per_accelerator"):
        assert marked(run("a", 400, **{name: 0.98}), run("b", 500)) == [], name
        assert marked(run("a", 400, **{name: 0.995}), run("b", 500)) == ["a"], name


def test_wide_intervals_that_overlap_are_the_same() -> None:
    wide = run("a", 400, items_per_s_per_accelerator=0.97)
    rate = wide.headline.items_per_s_per_accelerator
    assert rate.ci95 is not None
    wider = replace(rate, ci95=(rate.ci95[0] * 0.95, rate.ci95[1] * 1.05))
    assert marked(wide, run("b", 500)) == []
    assert marked(with_headline(wide, items_per_s_per_accelerator=wider), run("b", 500)) == ["a"]


def test_clock_that_was_not_read_is_left_out() -> None:
    blind = run("a", 400)
    assert marked(
        replace(blind, clocks=replace(blind.clocks, sm_mhz=None)),
        run("b", 500),
    ) == ["a"]


def test_work_that_needs_less_than_both_caps_is_no_offence() -> None:
    little = {"mean_power_w_per_accelerator": 0.5}  # 343 W
    idle = [
        replace(run(name, cap, **little), capped_share=0.005)
        for name, cap in (("a", 500), ("b", 600))
    ]
    assert marked(*idle) == []
    assert marked(replace(idle[0], capped_share=0.02), idle[1]) == ["a"]
    assert marked(replace(idle[0], cap_w=345), idle[1]) == ["a"]
    assert marked(*(replace(own, capped_share=None) for own in idle)) == []


@pytest.mark.parametrize(
    ("lower", "higher", "expected"), [(690, 700, []), (685, 700, ["a"]), (700, 700, [])]
)
def test_caps_within_their_tolerance_are_one(
    lower: float, higher: float, expected: list[str]
) -> None:
    assert marked(run("a", lower), run("b", higher)) == expected


def test_every_lower_cap_of_a_sweep_is_marked_and_the_highest_is_not() -> None:
    assert marked(run("c", 500), run("a", 300), run("b", 400), run("a2", 300)) == ["a", "a2", "b"]


def test_run_without_a_declared_cap_is_left_out() -> None:
    assert marked(replace(run("a", 400), cap_w=None), run("b", 500)) == []


def other_batch(evidence: EvidenceFrames) -> None:
    evidence.result["settings"]["batch_size"] *= 2


def other_variant(evidence: EvidenceFrames) -> None:
    evidence.result["implementation"]["variant"] = "baseline"


def other_option(evidence: EvidenceFrames) -> None:
    evidence.result["settings"]["options"] = {"compile": "no"}


def other_standing(evidence: EvidenceFrames) -> None:
    evidence.result["standing"] = "open"


def one_accelerator(evidence: EvidenceFrames) -> None:
    evidence.result["ranks"] = evidence.result["ranks"][:1]
    evidence.batches = evidence.batches[evidence.batches["rank"] == 0]


def other_boards(evidence: EvidenceFrames) -> None:
    for accelerator in evidence.system["nodes"][0]["accelerators"]:
        accelerator["name"] = "NVIDIA H100 80GB HBM3"


@pytest.mark.parametrize(
    "alter",
    [other_batch, other_variant, other_option, other_standing, one_accelerator, other_boards],
    ids=lambda f: f.__name__,
)
def test_runs_of_another_kind_are_not_compared(alter: Callable[[EvidenceFrames], None]) -> None:
    evidence = fresh_evidence()
    alter(evidence)
    assert marked(run("a", 400, evidence), run("b", 500)) == []


def test_runs_of_another_center_are_not_compared_and_those_of_another_directory_are() -> None:
    own = run("a", 400)
    renamed = fresh_evidence()
    renamed.system["name"] = "another"
    for path, center, expected in (
        ("center/other/b", "", ["a"]),
        ("Center/b", "center", ["a"]),
        ("elsewhere/system/b", "", []),
        ("center/system/b", "elsewhere", []),
    ):
        found = summarize(Bundle(Path(path), (), renamed.evidence()), center)
        assert found is not None and marked(own, replace(found, cap_w=500.0)) == expected, path
    assert {
        submission_key(Bundle(Path(path), (), renamed.evidence())) for path in ("c/s/a", "c/s/b")
    } == {submission_key(Bundle(Path("c/s/c"), (), renamed.evidence()))}
    assert submission_key(Bundle(Path("c/s/a"), (), renamed.evidence())) != submission_key(
        Bundle(Path("c/t/a"), (), renamed.evidence())
    )
    assert submission_key(Bundle(Path("c/s/a"), (), renamed.evidence())) != submission_key(
        Bundle(Path("c/s/a"), (), fresh_evidence().evidence())
    )


def test_share_of_capped_samples_is_by_the_bits_of_the_vendor() -> None:
    evidence = fresh_evidence()
    assert run("a", 700, evidence).capped_share == 1.0
    evidence.system["nodes"][0]["accelerators"][0]["vendor"] = "AMD"
    assert run("a", 700, evidence).capped_share == pytest.approx(0.5, abs=0.01)  # there 0x4 is heat
    evidence.samples.loc[evidence.samples["accelerator"] == UUIDS[0], "slowdown"] = float(0x2)
    assert run("a", 700, evidence).capped_share == 1.0
    evidence.samples["slowdown"] = float("nan")
    assert run("a", 700, evidence).capped_share is None


# X102 to X111: what is told of two runs, each on its own.


def said(rule: str, *runs: RunSummary) -> list[str]:
    return [path.name for path, _ in rules_by_id()[rule].judge_round(runs)]


def other(name: str, number: int = 1, **changes: Any) -> RunSummary:
    """The digest of another run like the good one."""
    evidence = another_run(fresh_evidence(), number)
    rederive(evidence)
    return replace(
        of_evidence(evidence), **{"path": Path("center/system") / name, "run_id": name, **changes}
    )


def all_said(*runs: RunSummary) -> set[str]:
    return {rule.id for rule in round_rules() if list(rule.judge_round(runs))}


def test_runs_that_differ_in_nothing_but_what_must_differ_give_no_finding() -> None:
    assert all_said(run("a", 700), *(other(f"b{n}", n) for n in range(1, 6))) == set()


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


def test_run_id_counts_within_a_center_and_not_beyond() -> None:
    own, same = run("a", 700), other("b", run_id=run("a", 700).run_id)
    assert said("X103", own, same) == ["a", "b"]
    assert said("X103", own, replace(same, path=Path("center/another/b"))) == ["a", "b"]
    assert (
        said("X103", own, replace(same, path=Path("elsewhere/system/b"), center="elsewhere")) == []
    )


def label(place: int, of: int, repeat: int = 1) -> SweepLabel:
    return SweepLabel("/sweep", "sweep", place, of, repeat, order="random", seed=1)


def test_missing_runs_of_a_sweep_are_told_once_and_by_place() -> None:
    runs = [other(f"run-{n}", n, sweep=label(n, 4, repeat=n), cap_w=700.0) for n in (2, 4)]
    ((path, finding),) = rules_by_id()["X104"].judge_round(runs)
    assert path.name == "run-2"
    assert "2 of the 4" in finding.found and "not there: 1, 3" in finding.found
    whole = [other(f"run-{n}", n, sweep=label(n, 2, repeat=n)) for n in (1, 2)]
    assert all_said(*whole) == set()
    elsewhere = replace(whole[1], path=Path("d/e/f"))
    assert said("X104", whole[0], elsewhere) == []
    assert said("X104", whole[0], replace(elsewhere, center="d")) == ["run-1", "f"]


def test_sweep_that_claims_a_million_runs_is_told_briefly() -> None:
    ((_, finding),) = rules_by_id()["X104"].judge_round([other("a", sweep=label(1, 1_000_000))])
    assert finding.found.endswith("2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13 …")


@pytest.mark.parametrize(
    ("slower", "expected"), [(0.97, ["high"]), (0.985, []), (1.0, []), (1.1, [])]
)
def test_throughput_may_fall_by_noise_alone(slower: float, expected: list[str]) -> None:
    assert (
        said("X106", run("low", 600), run("high", 700, items_per_s_per_accelerator=slower))
        == expected
    )
    assert (
        said("X106", run("low", 690), run("high", 700, items_per_s_per_accelerator=slower)) == []
    )  # within the tolerance of a cap


def test_the_fastest_of_all_lower_caps_is_what_counts() -> None:
    runs = (
        run("a", 300, items_per_s_per_accelerator=0.5),
        run("b", 400, items_per_s_per_accelerator=0.9),
        run("c", 500, items_per_s_per_accelerator=0.8),
        run("d", 700),
    )
    assert said("X106", *runs) == ["c"]


def test_system_that_differs_from_most_is_named_with_its_field() -> None:
    system = tuple(
        (name, "535" if name == "driver" else value) for name, value in run("a", 700).system
    )
    runs = [replace(run("a", 700), system=system), run("b", 700), run("c", 700)]
    ((path, finding),) = rules_by_id()["X107"].judge_round(runs)
    assert (path.name, finding.found, finding.expected[:10]) == ("a", "driver 535", "580.159.04")
    assert said("X107", replace(runs[0], standing="open"), *runs[1:]) == []
    elsewhere = replace(runs[0], path=Path("center/another/a"))
    assert said("X107", elsewhere, *runs[1:]) == ["a"], "the name of the system is the same"
    renamed = tuple((name, "another" if name == "name" else value) for name, value in system)
    assert said("X107", replace(elsewhere, system=renamed), *runs[1:]) == []
    assert said("X107", replace(elsewhere, center="elsewhere"), *runs[1:]) == []


@pytest.mark.parametrize(
    ("begins_s", "expected"), [(0, True), (400, True), (416, False), (420, False), (-500, False)]
)
def test_one_board_is_in_one_run_at_a_time(begins_s: float, expected: bool) -> None:
    own = replace(run("a", 700), from_s=0.0, until_s=420.0)
    second = replace(
        other("b"), from_s=begins_s, until_s=begins_s + 420.0, path=Path("elsewhere/system/b")
    )
    assert sorted(said("X108", own, second)) == (["a", "b"] if expected else [])
    assert said("X108", own, replace(second, boards=("GPU-3",))) == []
    assert said("X108", replace(own, standing="demo"), second) == []


def test_long_run_meets_every_short_one_inside_it() -> None:
    long = replace(run("long", 700), from_s=0.0, until_s=1000.0)
    short = [
        replace(other(f"short-{n}", n), from_s=n * 100.0, until_s=n * 100.0 + 50)
        for n in range(1, 4)
    ]
    assert sorted(said("X108", *short, long)) == ["long", "short-1", "short-2", "short-3"]


def test_dates_that_are_none_are_left_alone() -> None:
    own = replace(run("a", 700), from_s=float("nan"), until_s=float("nan"))
    assert said("X108", own, replace(own, path=Path("center/system/b"))) == []


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


# X113: the code of a commit.


def test_altered_code_is_told_where_most_centers_have_other() -> None:
    ran = [
        replace(other(f"run-{n}", n), center=f"center-{n}", source=("c0ffee", "a" * 64))
        for n in (1, 2)
    ]
    altered = [
        replace(other(f"altered-{n}", n), center="thief", source=("c0ffee", "b" * 64))
        for n in (3, 4, 5)
    ]
    assert said("X113", *ran, *altered) == ["altered-3", "altered-4", "altered-5"]
    ((_, finding),) = rules_by_id()["X113"].judge_round([*ran, altered[0]])
    assert (
        finding.found == "bbbbbbbbbbbb…, at commit c0ffee without changes"
        and "center/system/run-1" in finding.expected
    )
    assert said("X113", ran[0], altered[0]) == ["run-1", "altered-3"]
    assert said("X113", ran[0], replace(altered[0], source=("decaf", "b" * 64))) == []


@pytest.mark.parametrize(
    "git", [None, {"commit": None, "dirty": None}, {"commit": "c" * 40, "dirty": True}]
)
def test_code_of_no_clean_checkout_is_not_compared(git: object) -> None:
    evidence = fresh_evidence()
    evidence.environment["git"] = git
    assert of_evidence(evidence).source is None
    assert run("a", 700).source == ("0" * 40, "0" * 64)


# X114: other centers.


def elsewhere(center: str, energy: float, **changes: Any) -> RunSummary:
    return replace(
        run(center, 700, joules_per_item=energy),
        center=center,
        path=Path(center) / "system" / center,
        **changes,
    )


def test_energy_far_from_that_of_other_centers_is_a_note_that_names_one() -> None:
    assert said("X114", elsewhere("a", 1.0), elsewhere("b", 0.87)) == ["b", "a"]
    assert said("X114", elsewhere("a", 1.0), elsewhere("b", 0.93)) == []
    three = elsewhere("a", 1.0), elsewhere("b", 1.0), elsewhere("thief", 0.85)
    ((path, finding),) = rules_by_id()["X114"].judge_round(three)
    assert path.name == "thief" and "in a/system/a" in finding.found
    assert said("X114", *three, elsewhere("c", 1.4)) == ["thief", "c"]


@pytest.mark.parametrize(
    "changes",
    [
        {"held": False},
        {"held": None},
        {"standing": "open"},
        {"cap_w": 600.0},
        {"setting": ("another",)},
        {"center": "a"},
    ],
)
def test_energy_of_what_cannot_be_compared_is_left_alone(changes: dict[str, Any]) -> None:
    assert said("X114", elsewhere("a", 1.0), replace(elsewhere("b", 0.5), **changes)) == []


def test_cap_that_is_said_to_have_held_is_by_the_mean_power() -> None:
    assert run("a", 700).held is True
    over = fresh_evidence()
    declare_cap(over, 600)
    rederive(over)
    assert of_evidence(over).held is False


def test_cap_that_another_run_shows_to_be_too_high_to_bind() -> None:
    little = replace(run("little", 600, mean_power_w_per_accelerator=0.5), capped_share=0.0)
    assert said("X111", little, run("high", 700)) == ["little"]
    assert said("X111", replace(little, capped_share=0.5), run("high", 700)) == []
    assert said("X111", replace(little, capped_share=None), run("high", 700)) == []
    assert (
        said("X111", little, run("high", 700, mean_power_w_per_accelerator=0.85)) == []
    )  # needs less than 600 W there too
    assert (
        said("X111", run("little", 600, mean_power_w_per_accelerator=0.8), run("high", 700)) == []
    )


def test_round_of_many_is_judged_in_one_pass() -> None:
    """Each rule looks at 5 000 runs of one kind: pairs would be twelve million."""
    own = run("a", 700)
    runs = [
        replace(
            own,
            path=Path(f"center/system/run-{n:04}"),
            run_id=str(n),
            seed=n,
            from_s=n * 500.0,
            until_s=n * 500.0 + 400,
            readings=frozenset(range(n * 16, n * 16 + 16)),
            delays=frozenset(range(n * 16, n * 16 + 16)),
            patterns=frozenset(range(n * 16, n * 16 + 16)),
            windows=frozenset(range(n * 16, n * 16 + 16)),
            sweep=label(n + 1, 5000, repeat=n + 1),
            headline=replace(
                own.headline,
                items_per_s_per_accelerator=replace(
                    own.headline.items_per_s_per_accelerator, mean=7000.0 + n % 7
                ),
            ),
            epochs=tuple((7000.0 + (n * 7919 + e * e) % 11, 0.1) for e in range(10)),
        )
        for n in range(5000)
    ]
    begin_s = time.process_time()
    for rule in round_rules():
        list(rule.judge_round(runs))
    assert time.process_time() - begin_s < 20  # takes about half a second


# The engine.


def test_digest_is_small() -> None:
    assert len(pickle.dumps(run("a", 700))) < 5_000


def test_refused_bundle_proves_nothing_of_others(submissions: Submissions) -> None:
    submissions.add(at_cap(675), "lower-cap")
    refused = at_cap(700)
    refused.result["readbacks"][0]["foreign_processes"] = 1
    submissions.add(refused, "higher-cap")
    found = all_findings(submissions.root)
    assert [f.rule for f in found["higher-cap"]] == ["M103"]
    assert found["lower-cap"] == []


def test_rule_across_that_raises_is_an_internal_error(
    submissions: Submissions, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(digests: object) -> Iterator[Any]:
        raise ZeroDivisionError("by nothing")
        yield

    monkeypatch.setattr(rules_by_id()["X101"], "run", broken)
    submissions.add()
    ((finding,),) = all_findings(submissions.root).values()
    assert finding.rule == INTERNAL
    assert "rule X101 across bundles" in finding.message
