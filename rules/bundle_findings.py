"""What the findings of a bundle say about its power cap, its clocks and its reproduction, for
programs that compare runs.

They ask these functions, so that ids of rules stay within the rule book.
"""

from collections.abc import Iterable

from rules.checks.across.cap_without_effect import RULE as CAP_WITHOUT_EFFECT
from rules.checks.across.reproduction_not_counted import RULE as REPRODUCTION_NOT_COUNTED
from rules.checks.caps.clocks_not_default import RULE as CLOCKS_NOT_DEFAULT
from rules.finding import Finding


def is_cap_without_effect(findings: Iterable[Finding]) -> bool:
    """Whether a higher cap gives the same throughput and power, so that the cap is not shown to be
    in force."""
    return any(finding.rule == CAP_WITHOUT_EFFECT.id for finding in findings)


def are_clocks_changed(findings: Iterable[Finding]) -> bool:
    """Whether the application clocks of a board were not its default ones."""
    return any(finding.rule == CLOCKS_NOT_DEFAULT.id for finding in findings)


def counts_as_reproduction(findings: Iterable[Finding]) -> bool:
    """Whether a bundle that names an original supports or refutes it, by the findings on the
    bundle."""
    return all(finding.rule != REPRODUCTION_NOT_COUNTED.id for finding in findings)
