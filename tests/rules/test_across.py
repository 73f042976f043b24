"""Rules across the bundles of a round: what they see, of whom they speak, and that a bundle alone
is judged as before."""

import pickle
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import Submissions, fresh_evidence
from support.bundles import rederive
from support.rules.round_runs import all_findings, at_cap, of_evidence, other, run, said

from checker.verdict import INTERNAL
from rules.declarations import SweepLabel
from rules.registry import round_rules, rules_by_id
from rules.run_summary import RunSummary
from rules.testing.mutations import declare_cap


def all_said(*runs: RunSummary) -> set[str]:
    return {rule.id for rule in round_rules() if list(rule.judge_round(runs))}


# X102 to X111: what is told of two runs, each on its own.


def test_runs_that_differ_in_nothing_but_what_must_differ_give_no_finding() -> None:
    assert all_said(run("a", 700), *(other(f"b{n}", n) for n in range(1, 6))) == set()


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
