"""Rules across the bundles of a round: what they see, of whom they speak, and that a bundle alone
is judged as before."""

import pickle
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Submissions, copy_evidence
from support.bundles import make_evidence, make_serving_evidence, rederive
from support.rules.round_runs import (
    collect_findings,
    list_reported_runs,
    make_evidence_at_cap,
    make_other_summary,
    make_summary,
    summarize_evidence,
)

from checker.verdict import INTERNAL
from rules.bundle import Bundle
from rules.declarations.run import SweepLabel
from rules.fingerprints import Fingerprints, take_noise
from rules.registry import round_rules, rules_by_id
from rules.run_summary import RunSummary, read_configuration
from rules.settings import SETTINGS, ConfigurationKey
from rules.summaries.bundle_summary import distinguish_names
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import declare_cap


def list_all_reported(*runs: RunSummary) -> set[str]:
    return {rule.id for rule in round_rules() if list(rule.judge_round(runs))}


# X102 to X111: what is told of two runs, each on its own.


def test_runs_that_differ_in_nothing_but_what_must_differ_give_no_finding() -> None:
    assert (
        list_all_reported(
            make_summary("a", 700), *(make_other_summary(f"b{n}", n) for n in range(1, 6))
        )
        == set()
    )


def test_run_id_counts_within_a_center_and_not_beyond() -> None:
    summary, copy = (
        make_summary("a", 700),
        make_other_summary("b", run_id=make_summary("a", 700).run_id),
    )
    assert list_reported_runs("X103", summary, copy) == ["b"]
    assert list_reported_runs("X103", copy, summary) == ["b"]
    assert list_reported_runs("X103", summary, replace(copy, path=Path("center/another/b"))) == [
        "b"
    ]
    assert (
        list_reported_runs(
            "X103", summary, replace(copy, path=Path("elsewhere/system/b"), center="elsewhere")
        )
        == []
    )


@pytest.mark.parametrize("make", [make_evidence, make_serving_evidence])
def test_every_entry_of_a_configuration_has_a_name(make: Callable[[], EvidenceFrames]) -> None:
    bundle = Bundle(Path("center/system/run"), (), make().evidence())
    names = [setting.name for setting in SETTINGS if setting.is_configuration]
    assert list(read_configuration(bundle)) == names


def make_label(place: int, run_count: int, repeat: int = 1) -> SweepLabel:
    return SweepLabel("/sweep", "sweep", place, run_count, repeat, order="random", seed=1)


def with_setting(run: RunSummary, name: str, value: object) -> RunSummary:
    assert name in run.configuration
    return replace(run, configuration=ConfigurationKey({**run.configuration, name: value}))


def test_runs_of_a_sweep_over_batch_sizes_have_one_cap_and_do_not_contradict_each_other() -> None:
    labels = [replace(make_label(place, 2), axes=["batch"]) for place in (1, 2)]
    small, large = (
        with_setting(make_other_summary(f"run-{size}", size, sweep=label), "batch size", size)
        for size, label in zip((64, 128), labels, strict=True)
    )
    assert list_all_reported(small, large) == set()
    same_size = with_setting(large, "batch size", 64)
    assert list_reported_runs("X105", small, same_size) == ["run-64", "run-128"]
    other_rate = with_setting(large, "request rate", "another")
    assert list_reported_runs("X105", small, other_rate) == ["run-64", "run-128"]


@pytest.mark.parametrize("axis", ["precision", "variant"])
def test_sweep_over_precisions_may_have_closed_and_open_runs(axis: str) -> None:
    labels = [replace(make_label(place, 2), axes=[axis]) for place in (1, 2)]
    closed, fp8 = (
        with_setting(make_other_summary(f"run-{name}", place, sweep=label), "variant", name)
        for place, (name, label) in enumerate(zip(("tuned", "fp8"), labels, strict=True))
    )
    fp8 = with_setting(with_setting(fp8, "precision", "fp8"), "standing", "open")
    assert list_reported_runs("X105", closed, fp8) == []
    other_batch = with_setting(fp8, "batch size", 1)
    assert list_reported_runs("X105", closed, other_batch) == ["run-tuned", "run-fp8"]
    same_variant = with_setting(with_setting(fp8, "precision", "bf16"), "variant", "tuned")
    closed = with_setting(closed, "precision", "bf16")
    assert list_reported_runs("X105", closed, same_variant) == ["run-tuned", "run-fp8"]


def test_missing_runs_of_a_sweep_are_told_once_and_by_place() -> None:
    runs = [
        make_other_summary(f"run-{n}", n, sweep=make_label(n, 4, repeat=n), cap_w=700.0)
        for n in (2, 4)
    ]
    ((path, finding),) = rules_by_id()["X104"].judge_round(runs)
    assert path.name == "run-2"
    assert "2 of the 4" in finding.found and "not there: 1, 3" in finding.found
    whole = [make_other_summary(f"run-{n}", n, sweep=make_label(n, 2, repeat=n)) for n in (1, 2)]
    assert list_all_reported(*whole) == set()
    elsewhere = replace(whole[1], path=Path("d/e/f"))
    assert list_reported_runs("X104", whole[0], elsewhere) == []
    assert list_reported_runs("X104", whole[0], replace(elsewhere, center="d")) == ["run-1", "f"]


def test_sweep_that_claims_a_million_runs_is_told_briefly() -> None:
    ((_, finding),) = rules_by_id()["X104"].judge_round(
        [make_other_summary("a", sweep=make_label(1, 1_000_000))]
    )
    assert finding.found.endswith("2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13 …")


@pytest.mark.parametrize(
    ("slower", "expected"), [(0.97, ["high"]), (0.985, []), (1.0, []), (1.1, [])]
)
def test_throughput_may_fall_by_noise_alone(slower: float, expected: list[str]) -> None:
    assert (
        list_reported_runs(
            "X106",
            make_summary("low", 600),
            make_summary("high", 700, items_per_s_per_accelerator=slower),
        )
        == expected
    )
    assert (
        list_reported_runs(
            "X106",
            make_summary("low", 690),
            make_summary("high", 700, items_per_s_per_accelerator=slower),
        )
        == []
    )  # within the tolerance of a cap


def test_the_fastest_of_all_lower_caps_is_what_counts() -> None:
    runs = (
        make_summary("a", 300, items_per_s_per_accelerator=0.5),
        make_summary("b", 400, items_per_s_per_accelerator=0.9),
        make_summary("c", 500, items_per_s_per_accelerator=0.8),
        make_summary("d", 700),
    )
    assert list_reported_runs("X106", *runs) == ["c"]


def test_system_that_differs_from_most_is_named_with_its_field() -> None:
    system = tuple(
        (name, "535" if name == "driver" else value)
        for name, value in make_summary("a", 700).system
    )
    runs = [
        replace(make_summary("a", 700), system=system),
        make_summary("b", 700),
        make_summary("c", 700),
    ]
    ((path, finding),) = rules_by_id()["X107"].judge_round(runs)
    assert (path.name, finding.found, finding.expected[:10]) == ("a", "driver 535", "580.159.04")
    assert list_reported_runs("X107", replace(runs[0], standing="open"), *runs[1:]) == []
    elsewhere = replace(runs[0], path=Path("center/another/a"))
    assert list_reported_runs("X107", elsewhere, *runs[1:]) == ["a"], (
        "the name of the system is the same"
    )
    renamed = tuple((name, "another" if name == "name" else value) for name, value in system)
    assert list_reported_runs("X107", replace(elsewhere, system=renamed), *runs[1:]) == []
    assert list_reported_runs("X107", replace(elsewhere, center="elsewhere"), *runs[1:]) == []


@pytest.mark.parametrize(
    ("begins_s", "expected"), [(0, True), (400, True), (416, False), (420, False), (-500, False)]
)
def test_one_board_is_in_one_run_at_a_time(begins_s: float, expected: bool) -> None:
    summary = replace(make_summary("a", 700), from_s=0.0, until_s=420.0)
    second = replace(
        make_other_summary("b"),
        from_s=begins_s,
        until_s=begins_s + 420.0,
        path=Path("elsewhere/system/b"),
    )
    assert sorted(list_reported_runs("X108", summary, second)) == (["a", "b"] if expected else [])
    assert list_reported_runs("X108", summary, replace(second, boards=("GPU-3",))) == []
    assert list_reported_runs("X108", replace(summary, standing="demo"), second) == []


def test_long_run_meets_every_short_one_inside_it() -> None:
    long_run = replace(make_summary("long", 700), from_s=0.0, until_s=1000.0)
    short_runs = [
        replace(make_other_summary(f"short-{n}", n), from_s=n * 100.0, until_s=n * 100.0 + 50)
        for n in range(1, 4)
    ]
    assert sorted(list_reported_runs("X108", *short_runs, long_run)) == [
        "long",
        "short-1",
        "short-2",
        "short-3",
    ]


def test_dates_that_are_none_are_left_alone() -> None:
    summary = replace(make_summary("a", 700), from_s=float("nan"), until_s=float("nan"))
    assert list_reported_runs("X108", summary, replace(summary, path=Path("center/system/b"))) == []


# X113: the code of a commit.


def test_altered_code_is_told_where_most_centers_have_other() -> None:
    ran = [
        replace(
            make_other_summary(f"run-{n}", n), center=f"center-{n}", source=("c0ffee", "a" * 64)
        )
        for n in (1, 2)
    ]
    altered_runs = [
        replace(make_other_summary(f"altered-{n}", n), center="thief", source=("c0ffee", "b" * 64))
        for n in (3, 4, 5)
    ]
    assert list_reported_runs("X113", *ran, *altered_runs) == [
        "altered-3",
        "altered-4",
        "altered-5",
    ]
    ((_, finding),) = rules_by_id()["X113"].judge_round([*ran, altered_runs[0]])
    assert (
        finding.found == "bbbbbbbbbbbb…, at commit c0ffee without changes"
        and "center/system/run-1" in finding.expected
    )
    assert list_reported_runs("X113", ran[0], altered_runs[0]) == ["run-1", "altered-3"]
    assert (
        list_reported_runs("X113", ran[0], replace(altered_runs[0], source=("decaf", "b" * 64)))
        == []
    )


@pytest.mark.parametrize(
    "git", [None, {"commit": None, "dirty": None}, {"commit": "c" * 40, "dirty": True}]
)
def test_code_of_no_clean_checkout_is_not_compared(git: object) -> None:
    evidence = copy_evidence()
    evidence.environment["git"] = git
    assert summarize_evidence(evidence).source is None
    assert make_summary("a", 700).source == ("0" * 40, "0" * 64)


def test_cap_that_is_said_to_have_held_is_by_the_mean_power() -> None:
    assert make_summary("a", 700).held is True
    evidence = copy_evidence()
    declare_cap(evidence, 600)
    rederive(evidence)
    assert summarize_evidence(evidence).held is False


def test_cap_that_another_run_shows_to_be_too_high_to_bind() -> None:
    little = replace(
        make_summary("little", 600, mean_power_w_per_accelerator=0.5), capped_share=0.0
    )
    assert list_reported_runs("X111", little, make_summary("high", 700)) == ["little"]
    assert (
        list_reported_runs("X111", replace(little, capped_share=0.5), make_summary("high", 700))
        == []
    )
    assert (
        list_reported_runs("X111", replace(little, capped_share=None), make_summary("high", 700))
        == []
    )
    assert (
        list_reported_runs(
            "X111", little, make_summary("high", 700, mean_power_w_per_accelerator=0.85)
        )
        == []
    )  # needs less than 600 W there too
    assert (
        list_reported_runs(
            "X111",
            make_summary("little", 600, mean_power_w_per_accelerator=0.8),
            make_summary("high", 700),
        )
        == []
    )


def make_fingerprints(seed: int) -> Fingerprints:
    """Those of a small run with noise of its own."""
    random = np.random.default_rng(seed)
    hashes = [np.sort(random.integers(0, 2**64, 90, np.uint64)) for _ in range(6)]
    noise = take_noise(random.normal(690, 40, 120), 0)
    return Fingerprints(*hashes, (noise,), (noise,))


def test_round_of_many_is_judged_in_one_pass() -> None:
    """Each rule looks at 5 000 runs of one kind: pairs would be twelve million."""
    summary = make_summary("a", 700)
    runs = [
        replace(
            summary,
            path=Path(f"center/system/run-{n:04}"),
            run_id=str(n),
            seed=n,
            from_s=n * 500.0,
            until_s=n * 500.0 + 400,
            fingerprints=make_fingerprints(n),
            sweep=make_label(n + 1, 5000, repeat=n + 1),
            headline=replace(
                summary.headline,
                items_per_s_per_accelerator=replace(
                    summary.headline.items_per_s_per_accelerator, mean=7000.0 + n % 7
                ),
            ),
            epochs=tuple((7000.0 + (n * 7919 + e * e) % 11, 0.1) for e in range(10)),
        )
        for n in range(5000)
    ]
    begin_s = time.process_time()
    for rule in round_rules():
        list(rule.judge_round(runs))
    assert time.process_time() - begin_s < 20  # takes about two seconds


# The engine.


def test_digest_is_small() -> None:
    """A round of 2 000 runs fits into 100 MiB."""
    assert len(pickle.dumps(make_summary("a", 700))) < 50_000


def test_refused_bundle_proves_nothing_of_others(submissions: Submissions) -> None:
    submissions.add(make_evidence_at_cap(675), "lower-cap")
    refused = make_evidence_at_cap(700)
    refused.result["readbacks"][0]["foreign_processes"] = 1
    submissions.add(refused, "higher-cap")
    findings = collect_findings(submissions.root)
    assert [f.rule for f in findings["higher-cap"]] == ["M103"]
    assert findings["lower-cap"] == []


def test_rule_across_that_raises_is_an_internal_error(
    submissions: Submissions, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(digests: object) -> Iterator[Any]:
        raise ZeroDivisionError("by nothing")
        yield

    monkeypatch.setattr(rules_by_id()["X101"], "run", broken)
    submissions.add()
    ((finding,),) = collect_findings(submissions.root).values()
    assert finding.rule == INTERNAL
    assert "rule X101 across bundles" in finding.message


def test_runs_of_two_roots_with_the_same_names_are_named_apart() -> None:
    paths = ["a/submissions/c/s/run", "b/submissions/c/s/run", "a/submissions/c/s/other"]
    runs = distinguish_names(replace(make_summary("run", 700.0), path=Path(path)) for path in paths)
    assert [run.name for run in runs] == [*paths[:2], "c/s/other"]
