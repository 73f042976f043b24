"""Run the rules that compare the bundles of a round."""

from collections import defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from checker.judging.bundle_judge import JudgedBundle
from checker.verdict import INTERNAL, Verdict, build_internal_finding
from rules.finding import Finding, Severity
from rules.registry import observation_round_rules, round_rules, study_round_rules
from rules.rule import ComparingRule
from rules.summaries.bundle_summary import BundleSummary, distinguish_names


def add_round_findings(judged: Sequence[JudgedBundle]) -> Iterator[Verdict]:
    """The verdicts, with the findings of the rules across bundles. Refused bundles are not
    compared: what they state proves nothing about others."""
    withdrawn = frozenset(item.verdict.path for item in judged if item.verdict.withdrawn)
    summaries = distinguish_names(item.summary for item in judged if item.summary)
    findings = _run_round_rules(summaries, withdrawn)
    # A copy or a false claim must harm no accepted bundle. So an accepted bundle gets an error or a
    # warning only if the rule also reports it among the accepted bundles alone.
    accepted_paths = {item.verdict.path for item in judged if item.verdict.accepted}
    accepted = [summary for summary in summaries if summary.path in accepted_paths]
    doubted = {f.rule for path in accepted_paths for f in findings.get(path, ())}
    among_accepted = _run_round_rules(accepted, withdrawn, doubted) if len(accepted) > 1 else {}
    for item in judged:
        verdict = item.verdict
        own_findings = findings.get(verdict.path, [])
        if verdict.accepted:
            earlier_rules = {f.rule for f in among_accepted.get(verdict.path, [])}
            own_findings = [
                f if f.rule in earlier_rules else _lower_to_note(f) for f in own_findings
            ]
        yield replace(verdict, findings=(*verdict.findings, *item.trust.settle(own_findings)))


def _run_round_rules(
    summaries: Sequence[BundleSummary],
    withdrawn: frozenset[Path],
    selected: Container[str] | None = None,
) -> Mapping[Path, list[Finding]]:
    """The findings by path of the bundle, of the rules with the `selected` ids or of all. Withdrawn
    bundles get none, and only rules with `sees_withdrawn` compare others with them."""
    findings: dict[Path, list[Finding]] = defaultdict(list)
    standing = [summary for summary in summaries if summary.path not in withdrawn]
    if not standing:
        return findings
    rules: tuple[ComparingRule[Any], ...] = (
        *round_rules(),
        *study_round_rules(),
        *observation_round_rules(),
    )
    for rule in rules if selected is None else (r for r in rules if r.id in selected):
        seen = summaries if rule.sees_withdrawn else standing
        compared = [summary for summary in seen if rule.kind == summary.KIND]
        try:
            for path, finding in rule.judge_round(compared):
                # A rule with `sees_withdrawn` also reports the withdrawn bundle of a pair.
                if path not in withdrawn:
                    findings[path].append(finding)
        except Exception as error:
            # The failure concerns the whole round. Report it once, on the first bundle.
            path = standing[0].path
            findings[path].append(
                build_internal_finding(path, f"running rule {rule.id} across bundles", error)
            )
    return findings


def _lower_to_note(finding: Finding) -> Finding:
    """The finding on an accepted bundle that only a later bundle causes. A failure of the checker
    stays an error."""
    if finding.severity == Severity.NOTE or finding.rule == INTERNAL:
        return finding
    reason = "A note only: this bundle was accepted before the other one was added."
    return replace(finding, severity=Severity.NOTE, message=f"{finding.message} {reason}")
