"""The line of trust: warnings and notes of all bundles, and results that are not comparable."""

from collections.abc import Sequence
from dataclasses import dataclass

from reporting.results_model import ResultRow
from reporting.sections.cells import COMPARED_STANDINGS
from reporting.words import count_nouns
from rules.finding import Finding, Severity


@dataclass(frozen=True)
class TrustLine:
    """Warnings and notes of the bundles that passed, and results excluded from rankings."""

    warnings: int
    """Findings that are warnings, or waived errors."""
    notes: int
    not_comparable: int
    """Closed, open and published results excluded from rankings."""

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


def build_trust_line(
    passed_findings: Sequence[Sequence[Finding]], rows: Sequence[ResultRow]
) -> TrustLine:
    """Count the findings of each passed bundle, and the rows excluded from rankings."""
    findings = [finding for bundle in passed_findings for finding in bundle]
    notes = sum(finding.severity == Severity.NOTE for finding in findings)
    return TrustLine(
        warnings=len(findings) - notes,
        notes=notes,
        not_comparable=sum(row.standing in COMPARED_STANDINGS and not row.may_win for row in rows),
    )
