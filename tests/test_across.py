"""Rules across the bundles of a round: what they see, of whom they speak, and that a bundle alone is judged as before."""

import pickle
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import Submissions, fresh_evidence
from good import UUIDS, rederive

from checker.engine import INTERNAL, judge, judge_all
from rules.digest import Digest, digest
from rules.records import Evidence
from rules.rule import Bundle, Finding, rules_by_id
from rules.spoil import declare_cap

POWER = ("power_mw", "power_avg_mw", "energy_mj")


def at_cap(cap_w: float, power: float = 1.0, clock: float = 1.0, **settings: Any) -> Evidence:
    """The good run under another cap, with its power and its clock as multiples of what they are at 700 W."""
    evidence = fresh_evidence()
    for column in POWER:
        evidence.samples[column] = (evidence.samples[column] * power).round()
    evidence.samples["sm_mhz"] = (evidence.samples["sm_mhz"] * clock).round()
    evidence.result["settings"].update(settings)
    declare_cap(evidence, cap_w)
    rederive(evidence)
    return evidence


def run(name: str, cap_w: float, evidence: Evidence | None = None, **figures: float) -> Digest:
    """The digest of a run at that cap; `figures` are multiples of its means."""
    found = digest(Bundle(Path("center/system") / name, (), evidence or fresh_evidence()))
    assert found is not None
    scaled = {
        key: {**value, "mean": value["mean"] * figures.get(key, 1.0), "ci95": [v * figures.get(key, 1.0) for v in value["ci95"]]}
        for key, value in found.figures.items()
    }
    return replace(found, cap_w=cap_w, figures=scaled)


def marked(*runs: Digest) -> list[str]:
    return [path.name for path, _ in rules_by_id()["X101"].judge_across(runs)]


def all_findings(root: Path) -> dict[str, list[Finding]]:
    return {v.path.name: list(v.findings) for v in judge_all([root]).verdicts}


# X101: two caps that give the same.


def test_cap_without_effect_is_told_of_the_lower_cap_and_names_the_other(submissions: Submissions) -> None:
    submissions.add(at_cap(675), "lower-cap")
    submissions.add(at_cap(700), "higher-cap")
    found = all_findings(submissions.root)
    assert found["higher-cap"] == []
    (finding,) = found["lower-cap"]
    assert finding.rule == "X101"
    assert "at 675 W" in finding.found and "at 700 W (higher-cap)" in finding.found
    assert judge(submissions.root / "example/h200x2/lower-cap").findings == ()


def test_caps_that_are_kept_give_no_finding(submissions: Submissions) -> None:
    for cap_w in (500, 600, 700):
        submissions.add(at_cap(cap_w, power=cap_w / 700, clock=(cap_w / 700) ** 0.5), f"cap-of-{cap_w}-w")
    assert not any(all_findings(submissions.root).values())


def test_any_figure_that_differs_shows_that_the_cap_works() -> None:
    assert marked(run("a", 400), run("b", 500)) == ["a"]
    for name in ("mean_power_w", "mean_sm_mhz", "items_per_s"):
        assert marked(run("a", 400, **{name: 0.98}), run("b", 500)) == [], name
        assert marked(run("a", 400, **{name: 0.995}), run("b", 500)) == ["a"], name


def test_wide_intervals_that_overlap_are_the_same() -> None:
    wide = run("a", 400, items_per_s=0.97)
    low, high = wide.figures["items_per_s"]["ci95"]
    figures = {**wide.figures, "items_per_s": {**wide.figures["items_per_s"], "ci95": [low * 0.95, high * 1.05]}}
    assert marked(wide, run("b", 500)) == []
    assert marked(replace(wide, figures=figures), run("b", 500)) == ["a"]


def test_clock_that_was_not_read_is_left_out() -> None:
    blind = run("a", 400)
    assert marked(replace(blind, figures={k: v for k, v in blind.figures.items() if k != "mean_sm_mhz"}), run("b", 500)) == ["a"]


def test_work_that_needs_less_than_both_caps_is_no_offence() -> None:
    little = {"mean_power_w": 0.5}  # 343 W
    idle = [replace(run(name, cap, **little), capped_share=0.005) for name, cap in (("a", 500), ("b", 600))]
    assert marked(*idle) == []
    assert marked(replace(idle[0], capped_share=0.02), idle[1]) == ["a"]
    assert marked(replace(idle[0], cap_w=345), idle[1]) == ["a"]
    assert marked(*(replace(own, capped_share=None) for own in idle)) == []


@pytest.mark.parametrize(("lower", "higher", "expected"), [(690, 700, []), (685, 700, ["a"]), (700, 700, [])])
def test_caps_within_their_tolerance_are_one(lower: float, higher: float, expected: list[str]) -> None:
    assert marked(run("a", lower), run("b", higher)) == expected


def test_every_lower_cap_of_a_sweep_is_marked_and_the_highest_is_not() -> None:
    assert marked(run("c", 500), run("a", 300), run("b", 400), run("a2", 300)) == ["a", "a2", "b"]


def test_run_without_a_declared_cap_is_left_out() -> None:
    assert marked(replace(run("a", 400), cap_w=None), run("b", 500)) == []


def other_batch(evidence: Evidence) -> None:
    evidence.result["settings"]["batch_size"] *= 2


def other_variant(evidence: Evidence) -> None:
    evidence.result["implementation"]["variant"] = "baseline"


def other_option(evidence: Evidence) -> None:
    evidence.result["settings"]["options"] = {"compile": "no"}


def other_standing(evidence: Evidence) -> None:
    evidence.result["standing"] = "open"


def one_accelerator(evidence: Evidence) -> None:
    evidence.result["ranks"] = evidence.result["ranks"][:1]
    evidence.batches = evidence.batches[evidence.batches["rank"] == 0]


def other_system(evidence: Evidence) -> None:
    evidence.system["name"] = "another"


@pytest.mark.parametrize(
    "alter", [other_batch, other_variant, other_option, other_standing, one_accelerator, other_system], ids=lambda f: f.__name__
)
def test_runs_of_another_kind_are_not_compared(alter: Callable[[Evidence], None]) -> None:
    evidence = fresh_evidence()
    alter(evidence)
    assert marked(run("a", 400, evidence), run("b", 500)) == []


def test_bundles_of_another_submission_are_not_compared() -> None:
    own = run("a", 400)
    assert own.kind == run("b", 400).kind
    elsewhere = digest(Bundle(Path("center/other/b"), (), fresh_evidence()))
    assert elsewhere is not None and marked(own, replace(elsewhere, cap_w=500)) == []


def test_share_of_capped_samples_is_by_the_bits_of_the_vendor() -> None:
    evidence = fresh_evidence()
    assert run("a", 700, evidence).capped_share == 1.0
    evidence.system["nodes"][0]["accelerators"][0]["vendor"] = "AMD"
    assert run("a", 700, evidence).capped_share == pytest.approx(0.5, abs=0.01)  # there 0x4 is heat
    evidence.samples.loc[evidence.samples["accelerator"] == UUIDS[0], "slowdown"] = float(0x2)
    assert run("a", 700, evidence).capped_share == 1.0
    evidence.samples["slowdown"] = float("nan")
    assert run("a", 700, evidence).capped_share is None


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


def test_rule_across_that_raises_is_an_internal_error(submissions: Submissions, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(digests: object) -> Iterator[Any]:
        raise ZeroDivisionError("by nothing")
        yield

    monkeypatch.setattr(rules_by_id()["X101"], "run_across", broken)
    submissions.add()
    ((finding,),) = all_findings(submissions.root).values()
    assert finding.rule == INTERNAL
    assert "rule X101 across bundles" in finding.message
