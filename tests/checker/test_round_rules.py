"""The rules across the bundles of a round: which bundles they compare, and what a failure of one
means for an accepted bundle."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import Submissions, copy_evidence, make_key
from support.bundles import rederive
from support.rounds.trust import delay_samples, list_errors, list_rules, make_second_run
from support.rounds.verdicts import REVIEW, make_finding, make_verdict

from checker.engine import judge_all
from checker.judging.bundle_judge import JudgeOptions, judge_bundles
from checker.judging.round_rules import _lower_to_note, _run_round_rules
from checker.verdict import INTERNAL
from rules.finding import Finding, Severity
from rules.registry import round_rules, rules_by_id
from rules.testing import tampering as forge
from rules.testing.mutations import use_other_boards


def test_bundle_with_a_waived_error_is_still_compared(submissions: Submissions) -> None:
    evidence = delay_samples(copy_evidence())
    original, copy = (
        submissions.add(evidence, run_id=name) for name in ("first-run", "second-run")
    )
    forge.add_waiver(original, rule="P104", below="example")
    verdicts = {v.path: v for v in judge_all([submissions.root]).verdicts}
    for path in (original, copy):
        assert {f.rule for f in verdicts[path].findings if f.waived} >= {"P104"}
    assert "X102" in list_errors(verdicts[copy])


def test_bundle_with_an_error_is_not_compared(submissions: Submissions) -> None:
    evidence = delay_samples(copy_evidence())
    for name in ("first-run", "second-run"):
        submissions.add(evidence, run_id=name)
    for verdict in judge_all([submissions.root]).verdicts:
        assert "P104" in list_rules(verdict)
        assert not {rule for rule in list_rules(verdict) if rule.startswith("X")}


def test_failure_of_a_rule_across_bundles_is_an_error_of_an_accepted_bundle_too(
    submissions: Submissions, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(summaries: object) -> Iterator[Any]:
        raise ZeroDivisionError("by nothing")
        yield

    accepted = submissions.add(run_id="accepted-run")
    submissions.add(make_second_run(), run_id="newer-run")
    forge.write_log(accepted, {})
    monkeypatch.setattr(rules_by_id()["X102"], "run", broken)
    verdicts = {v.path: v for v in judge_all([submissions.root]).verdicts}
    assert verdicts[accepted].accepted
    (finding,) = verdicts[accepted].findings
    assert (finding.rule, finding.severity) == (INTERNAL, Severity.ERROR)
    assert "rule X102 across bundles" in finding.message
    assert verdicts[accepted].status == "fail"


def test_only_bundles_that_pass_are_kept(submissions: Submissions) -> None:
    good_bundle = submissions.add(run_id="good-run")
    failing = submissions.add(delay_samples(make_second_run()), run_id="failing-run")
    summaries: list[Path] = []
    options = JudgeOptions(keep=lambda bundle: summaries.append(bundle.path) or bundle.path.name)
    verdicts = [
        judged.verdict
        for judged in judge_bundles({good_bundle: good_bundle, failing: failing}, options)
    ]
    assert [verdict.kept for verdict in verdicts] == ["good-run", None]
    assert summaries == [good_bundle]


def test_findings_of_rules_but_not_of_failures_are_lowered_on_accepted_bundles() -> None:
    def lower(severity: Severity, rule: str = "X102") -> Severity:
        finding = Finding(rule, severity, "result.json", "", "a copy", "a run of its own", "")
        return _lower_to_note(finding).severity

    assert lower(Severity.ERROR) == Severity.NOTE
    assert lower(Severity.WARNING) == Severity.NOTE
    assert lower(Severity.ERROR, INTERNAL) == Severity.ERROR


def test_later_bundle_warns_of_an_accepted_bundle_only_once_it_is_accepted_too(
    submissions: Submissions, tmp_path: Path
) -> None:
    accepted = submissions.add(run_id="accepted-run")
    key = make_key(tmp_path / "other")
    submissions.allow(key, "other@lab.example.org")
    evidence = make_second_run()
    use_other_boards(evidence)
    # The losses of the accepted run under another seed, which X117 reports on both.
    evidence.result["epochs"] = copy_evidence().result["epochs"]
    losses = [epoch["loss"] for epoch in evidence.result["epochs"]]
    rederive(evidence)
    for epoch, loss in zip(evidence.result["epochs"], losses, strict=True):
        epoch["loss"] = loss
    later = replace(submissions, key=key).add(evidence, principal="other@lab.example.org")

    def judge() -> dict[Path, set[Severity]]:
        verdicts = {v.path: v for v in judge_all([submissions.root]).verdicts}
        return {
            path: {f.severity for f in verdicts[path].findings if f.rule == "X117"}
            for path in (accepted, later)
        }

    forge.write_log(accepted, {})
    assert judge() == {accepted: {Severity.NOTE}, later: {Severity.WARNING}}
    entry = {
        "path": later.relative_to(submissions.root).as_posix(),
        "manifest_sha256": forge.hash_manifest(later),
    }
    forge.write_log(accepted, {}, entry)
    assert judge() == {accepted: {Severity.WARNING}, later: {Severity.WARNING}}


def test_result_far_better_than_all_others_wins_nothing_until_it_is_reviewed() -> None:
    better, other = make_finding("X114"), make_finding("W103")
    verdict = make_verdict(better, other)
    assert verdict.findings_that_bar_winning == (better,)
    assert make_verdict(other).findings_that_bar_winning == ()
    rejected = replace(REVIEW, verdict="reject")
    assert make_verdict(better, reviews=(rejected,)).findings_that_bar_winning == (better,)
    assert make_verdict(better, reviews=(REVIEW,)).findings_that_bar_winning == ()
    assert make_verdict(better, accepted="1.10.0").findings_that_bar_winning == ()
    assert make_verdict(better, accepted="1.11.0").findings_that_bar_winning == (better,)
    for lifted in (
        replace(better, waived="waivers/a.json"),
        replace(better, severity=Severity.NOTE),
    ):
        assert make_verdict(lifted).findings_that_bar_winning == ()


def test_withdrawn_bundle_is_compared_only_by_rules_that_ask_for_it(
    submissions: Submissions,
) -> None:
    evidence = copy_evidence()
    paths = [submissions.add(evidence, run_id=name) for name in ("first-run", "second-run")]
    judged = judge_bundles(dict.fromkeys(paths, submissions.root), JudgeOptions())
    summaries = [item.summary for item in judged if item.summary]
    assert len(summaries) == 2
    seeing = {rule.id for rule in round_rules() if rule.sees_withdrawn}

    def rules_on_second(withdrawn: frozenset[Path]) -> set[str]:
        return {f.rule for f in _run_round_rules(summaries, withdrawn).get(paths[1], [])}

    assert rules_on_second(frozenset()) - seeing
    assert not rules_on_second(frozenset(paths[:1])) - seeing
