"""X114, X115 and X119: results compared with those of other centers."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.rules.round_runs import list_reported_runs, make_summary

from rules.declarations.run import OriginalRun
from rules.finding import Severity
from rules.known_results import KNOWN_RESULTS
from rules.registry import rules_by_id
from rules.run_summary import RunSummary


def make_summary_elsewhere(center: str, **changes: Any) -> RunSummary:
    """A run of `center`; `changes` are multiples of figures, or other values of fields."""
    fields = {key: changes.pop(key) for key in list(changes) if key in vars(make_summary("a", 700))}
    return replace(
        make_summary(center, 700, **changes),
        **{"center": center, "path": Path(center) / "system" / center, **fields},
    )


def test_result_far_better_than_those_of_all_other_centers_is_reported() -> None:
    usual, better = make_summary_elsewhere("a"), make_summary_elsewhere("b", joules_per_item=0.87)
    assert list_reported_runs("X114", usual, better) == ["b"]
    assert (
        list_reported_runs("X114", usual, make_summary_elsewhere("b", joules_per_item=0.93)) == []
    )
    faster = make_summary_elsewhere("c", items_per_s_per_accelerator=1.12, joules_per_item=0.95)
    ((path, finding),) = rules_by_id()["X114"].judge_round([usual, faster])
    assert path.name == "c" and "12% better" in finding.found and "a/system/a" in finding.found
    assert list_reported_runs("X114", usual, better, faster) == ["c"]
    near = make_summary_elsewhere("d", joules_per_item=0.8, cap_w=670.0)
    assert list_reported_runs("X114", usual, near) == ["d"]


@pytest.mark.parametrize(
    ("figures", "expected"),
    [
        ({"items_per_s_per_accelerator": 1.05}, ["thief"]),
        ({"mean_sm_mhz": 1.05}, ["thief"]),
        ({"items_per_s_per_accelerator": 0.9, "mean_sm_mhz": 0.9}, []),
        ({"items_per_s_per_accelerator": 1.03}, []),
    ],
)
def test_work_per_clock_far_from_the_median_of_other_centers_is_reported(
    figures: dict[str, float], expected: list[str]
) -> None:
    usual_runs = [make_summary_elsewhere(center) for center in "ab"]
    assert (
        list_reported_runs("X115", *usual_runs, make_summary_elsewhere("thief", **figures))
        == expected
    )


@pytest.mark.parametrize(
    ("work_by_batch", "work", "expected"),
    [
        ({256: 1.0}, 0.9, []),
        ({256: 1.0}, 1.1, ["run"]),
        ({256: 0.9, 512: 1.0}, 0.9, ["run"]),
        ({256: 0.9, 512: 1.0}, 1.1, ["run"]),
        ({256: 0.9, 512: 1.0}, 1.0, []),
    ],
)
def test_less_work_per_clock_is_reported_only_beside_runs_of_the_same_batch_size(
    work_by_batch: dict[int, float], work: float, expected: list[str]
) -> None:
    known_runs = [
        make_summary_elsewhere("known", batch_size=batch, items_per_s_per_accelerator=known_work)
        for batch, known_work in work_by_batch.items()
    ]
    run = make_summary_elsewhere("run", batch_size=512, items_per_s_per_accelerator=work)
    reported = list_reported_runs("X115", run, *known_runs)
    assert [name for name in reported if name == "run"] == expected


def test_accepted_runs_of_other_centers_decide_what_is_known() -> None:
    claim = {"items_per_s_per_accelerator": 1.2}
    usual = make_summary_elsewhere("usual", log_line=1)
    claims = [make_summary_elsewhere(center, **claim) for center in "abc"]
    names = [run.path.name for run in claims]
    # Centers that agree on a claim must not vouch for each other.
    assert list_reported_runs("X114", usual, *claims) == names
    assert set(names) <= set(list_reported_runs("X115", usual, *claims))
    # Nor may their claims bar an honest run.
    honest = make_summary_elsewhere("honest")
    assert "honest" not in list_reported_runs("X115", usual, honest, *claims)
    # Without an accepted run, all runs count.
    assert "honest" in list_reported_runs("X115", honest, *claims)


def test_center_with_many_runs_does_not_decide_the_work_per_clock() -> None:
    many = [
        replace(make_summary_elsewhere("a", mean_sm_mhz=1.1), path=Path(f"a/system/a-{number}"))
        for number in range(5)
    ]
    usual_runs = [make_summary_elsewhere(center) for center in "bcd"]
    assert list_reported_runs("X115", *many, *usual_runs) == [f"a-{number}" for number in range(5)]


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
@pytest.mark.parametrize("rule", ["X114", "X115"])
def test_run_that_cannot_be_compared_with_other_centers_is_not_reported(
    rule: str, changes: dict[str, Any]
) -> None:
    figures = {"joules_per_item": 0.5, "items_per_s_per_accelerator": 1.5}
    other = replace(make_summary_elsewhere("b", **figures), **changes)
    assert list_reported_runs(rule, make_summary_elsewhere("a"), other) == []


def make_known_run(center: str, work: float = 1.0, **changes: Any) -> RunSummary:
    """A run with `work` times the items/s and items/J of the known result of its kind, at the
    clock of that result."""
    summary = make_summary_elsewhere(center, **changes)
    known = KNOWN_RESULTS["H200", summary.workload, "tuned", 1024]
    clock, energy = summary.clocks.sm_mhz, summary.headline.joules_per_item
    assert clock is not None and energy is not None
    items_per_s = summary.headline.items_per_s_per_accelerator.mean
    figures = {
        "items_per_s_per_accelerator": work * known.items_per_s / items_per_s,
        "joules_per_item": 1 / (work * known.items_per_joule * energy.mean),
        "mean_sm_mhz": known.items_per_s / known.items_per_megacycle / clock.mean,
    }
    return make_summary_elsewhere(center, batch_size=1024, **changes, **figures)


def judge_round(rule: str, *runs: RunSummary) -> dict[str, Severity]:
    """The severity of the finding on each run that the rule reports."""
    findings = rules_by_id()[rule].judge_round(runs)
    return {path.name: finding.severity for path, finding in findings}


@pytest.mark.parametrize("work", [0.8, 1.2])
def test_false_run_bars_no_honest_one_before_either_is_accepted(work: float) -> None:
    honest, false = make_known_run("honest"), make_known_run("false", work)
    assert judge_round("X115", honest, false) == {
        "honest": Severity.NOTE,
        "false": Severity.WARNING,
    }
    reproduction = replace(false, reproduces=OriginalRun("/reproduces", "honest", "", "0" * 64))
    original = replace(honest, manifest_sha256="0" * 64)
    assert judge_round("X119", original, reproduction) == {
        "honest": Severity.NOTE,
        "false": Severity.WARNING,
    }
    expected = {"honest": Severity.NOTE} if work < 1 else {"false": Severity.WARNING}
    assert judge_round("X114", honest, false) == expected


def test_accepted_run_is_no_party_to_a_dispute() -> None:
    far = make_known_run("far", 1.2, log_line=1)
    assert judge_round("X115", make_known_run("near"), far)["near"] == Severity.WARNING


def test_both_runs_are_doubted_without_a_known_result() -> None:
    runs = [
        replace(make_known_run(who, work), workload="own") for who, work in (("a", 1), ("b", 2))
    ]
    assert judge_round("X115", *runs) == {"a": Severity.WARNING, "b": Severity.WARNING}
