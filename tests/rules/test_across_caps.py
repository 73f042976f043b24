"""X101: two caps of a round that give the same."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import Submissions, copy_evidence
from support.good_documents import UUIDS
from support.rules.round_runs import (
    collect_findings,
    make_evidence_at_cap,
    make_summary,
    replace_headline,
)

from checker.engine import judge
from rules.bundle import Bundle
from rules.registry import rules_by_id
from rules.run_summary import RunSummary, submission_key, summarize
from rules.testing.frames import EvidenceFrames


def list_reported(*runs: RunSummary) -> list[str]:
    return [path.name for path, _ in rules_by_id()["X101"].judge_round(runs)]


def test_cap_without_effect_is_told_of_the_lower_cap_and_names_the_other(
    submissions: Submissions,
) -> None:
    submissions.add(make_evidence_at_cap(675), "lower-cap")
    submissions.add(make_evidence_at_cap(700), "higher-cap")
    findings = collect_findings(submissions.root)
    assert findings["higher-cap"] == []
    (finding,) = findings["lower-cap"]
    assert finding.rule == "X101"
    assert "at 675 W" in finding.found and "at 700 W (example/h200x2/higher-cap)" in finding.found
    assert judge(submissions.root / "example/h200x2/lower-cap").findings == ()


def test_caps_that_are_kept_give_no_finding(submissions: Submissions) -> None:
    for cap_w in (500, 600, 700):
        submissions.add(
            make_evidence_at_cap(
                cap_w,
                power=cap_w / 700,
                clock=(cap_w / 700) ** 0.5,
                rate=(cap_w / 700) ** 0.5,
            ),
            f"cap-of-{cap_w}-w",
        )
    assert not any(collect_findings(submissions.root).values())


def test_any_figure_that_differs_shows_that_the_cap_works() -> None:
    assert list_reported(make_summary("a", 400), make_summary("b", 500)) == ["a"]
    for name in ("mean_power_w_per_accelerator", "mean_sm_mhz", "items_per_s_per_accelerator"):
        assert (
            list_reported(make_summary("a", 400, **{name: 0.98}), make_summary("b", 500)) == []
        ), name
        assert list_reported(make_summary("a", 400, **{name: 0.995}), make_summary("b", 500)) == [
            "a"
        ], name


def test_wide_intervals_that_overlap_are_the_same() -> None:
    wide = make_summary("a", 400, items_per_s_per_accelerator=0.97)
    rate = wide.headline.items_per_s_per_accelerator
    assert rate.ci95 is not None
    wider = replace(rate, ci95=(rate.ci95[0] * 0.95, rate.ci95[1] * 1.05))
    assert list_reported(wide, make_summary("b", 500)) == []
    assert list_reported(
        replace_headline(wide, items_per_s_per_accelerator=wider), make_summary("b", 500)
    ) == ["a"]


def test_clock_that_was_not_read_is_left_out() -> None:
    blind = make_summary("a", 400)
    assert list_reported(
        replace(blind, clocks=replace(blind.clocks, sm_mhz=None)),
        make_summary("b", 500),
    ) == ["a"]


def test_work_that_needs_less_than_both_caps_is_no_offence() -> None:
    little = {"mean_power_w_per_accelerator": 0.5}  # 343 W
    idle = [
        replace(make_summary(name, cap, **little), held_share=0.005)
        for name, cap in (("a", 500), ("b", 600))
    ]
    assert list_reported(*idle) == []
    assert list_reported(replace(idle[0], held_share=0.02), idle[1]) == ["a"]
    assert list_reported(replace(idle[0], cap_w=345), idle[1]) == ["a"]
    assert list_reported(*(replace(summary, held_share=None) for summary in idle)) == []


@pytest.mark.parametrize(
    ("lower", "higher", "expected"), [(690, 700, []), (685, 700, ["a"]), (700, 700, [])]
)
def test_caps_within_their_tolerance_are_one(
    lower: float, higher: float, expected: list[str]
) -> None:
    assert list_reported(make_summary("a", lower), make_summary("b", higher)) == expected


def test_every_lower_cap_of_a_sweep_is_marked_and_the_highest_is_not() -> None:
    assert list_reported(
        make_summary("c", 500),
        make_summary("a", 300),
        make_summary("b", 400),
        make_summary("a2", 300),
    ) == ["a", "a2", "b"]


def test_run_without_a_declared_cap_is_left_out() -> None:
    assert list_reported(replace(make_summary("a", 400), cap_w=None), make_summary("b", 500)) == []


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
    evidence = copy_evidence()
    alter(evidence)
    assert list_reported(make_summary("a", 400, evidence), make_summary("b", 500)) == []


def test_runs_of_another_center_are_not_compared_and_those_of_another_directory_are() -> None:
    summary = make_summary("a", 400)
    renamed = copy_evidence()
    renamed.system["name"] = "another"
    for path, center, expected in (
        ("center/other/b", "", ["a"]),
        ("Center/b", "center", ["a"]),
        ("elsewhere/system/b", "", []),
        ("center/system/b", "elsewhere", []),
    ):
        other_summary = summarize(Bundle(Path(path), (), renamed.evidence()), center)
        assert (
            other_summary is not None
            and list_reported(summary, replace(other_summary, cap_w=500.0)) == expected
        ), path
    assert {
        submission_key(Bundle(Path(path), (), renamed.evidence())) for path in ("c/s/a", "c/s/b")
    } == {submission_key(Bundle(Path("c/s/c"), (), renamed.evidence()))}
    assert submission_key(Bundle(Path("c/s/a"), (), renamed.evidence())) != submission_key(
        Bundle(Path("c/t/a"), (), renamed.evidence())
    )
    assert submission_key(Bundle(Path("c/s/a"), (), renamed.evidence())) != submission_key(
        Bundle(Path("c/s/a"), (), copy_evidence().evidence())
    )


def test_share_of_capped_samples_is_by_the_bits_of_the_vendor() -> None:
    evidence = copy_evidence()
    assert make_summary("a", 700, evidence).capped_share == 1.0
    evidence.system["nodes"][0]["accelerators"][0]["vendor"] = "AMD"
    assert make_summary("a", 700, evidence).capped_share == pytest.approx(
        0.5, abs=0.01
    )  # there 0x4 is heat
    evidence.samples.loc[evidence.samples["accelerator"] == UUIDS[0], "slowdown"] = float(0x2)
    assert make_summary("a", 700, evidence).capped_share == 1.0
    evidence.samples["slowdown"] = float("nan")
    assert make_summary("a", 700, evidence).capped_share is None
