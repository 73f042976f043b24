"""What the findings of a bundle say about its power cap and clocks, for programs that compare runs.

They ask these functions, so that ids of rules stay within the rule book.
"""

from collections.abc import Iterable

from rules.checks.across.cap_without_effect import RULE as CAP_WITHOUT_EFFECT
from rules.checks.caps.clocks_not_default import RULE as CLOCKS_NOT_DEFAULT
from rules.finding import Finding


def is_cap_without_effect(findings: Iterable[Finding]) -> bool:
    """Whether a higher cap gives the same throughput and power, so that the cap is not shown to be
    in force."""
    return any(finding.rule == CAP_WITHOUT_EFFECT.id for finding in findings)


def are_clocks_changed(findings: Iterable[Finding]) -> bool:
    """Whether the application clocks of a board were not its default ones."""
    return any(finding.rule == CLOCKS_NOT_DEFAULT.id for finding in findings)
