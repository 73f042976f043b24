"""The line of trust: warnings and notes of all bundles, and results that are not comparable."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from reporting.results_model import ResultRow
from reporting.sections.cells import COMPARED_STANDINGS
from reporting.sentences.words import count_nouns, join_words
from rules.finding import Finding, Severity
from rules.registry import rules_by_id


@dataclass(frozen=True)
class RuleCount:
    """The findings of one rule."""

    rule: str
    severity: str
    title: str
    findings: int
    bundles: int
    """How many passed bundles have such a finding."""


@dataclass(frozen=True)
class TrustLine:
    """Warnings and notes of the bundles that passed, and results excluded from rankings."""

    warnings: int
    """Findings that are warnings, or waived errors."""
    notes: int
    not_comparable: int
    """Closed, open and published results excluded from rankings."""
    by_rule: tuple[RuleCount, ...]
    """Warnings first, then by rule."""

    @property
    def text(self) -> str:
        """`6 warnings, 32 notes, 44 results not comparable`."""
        return ", ".join(
            (
                count_nouns(self.warnings, "warning"),
                count_nouns(self.notes, "note"),
                f"{count_nouns(self.not_comparable, 'result')} not comparable",
            )
        )

    @property
    def detail(self) -> str:
        """The rules with their numbers of bundles, as one sentence; empty without findings."""
        if not self.by_rule:
            return ""
        counts = [f"{c.rule} in {count_nouns(c.bundles, 'bundle')}" for c in self.by_rule]
        return f"Findings: {join_words(counts)}."


def build_trust_line(
    passed_findings: Sequence[Sequence[Finding]], rows: Sequence[ResultRow]
) -> TrustLine:
    """Count the findings of each passed bundle, and the rows excluded from rankings."""
    findings = [finding for bundle in passed_findings for finding in bundle]
    notes = sum(finding.severity == Severity.NOTE for finding in findings)
    rule_book = rules_by_id()
    counts = Counter(finding.rule for finding in findings)
    bundles = Counter(rule for bundle in passed_findings for rule in {f.rule for f in bundle})
    first_findings = {finding.rule: finding for finding in reversed(findings)}
    by_rule = [
        RuleCount(
            rule,
            str(finding.severity),
            rule_book[rule].page.splitlines()[0] if rule in rule_book else finding.message,
            counts[rule],
            bundles[rule],
        )
        for rule, finding in first_findings.items()
    ]
    by_rule.sort(key=lambda count: (count.severity == str(Severity.NOTE), count.rule))
    return TrustLine(
        warnings=len(findings) - notes,
        notes=notes,
        not_comparable=sum(row.standing in COMPARED_STANDINGS and not row.may_win for row in rows),
        by_rule=tuple(by_rule),
    )
