"""What the findings of a bundle say about its power cap, its clocks and its reproduction, for
programs that compare runs.

They ask these functions, so that ids of rules stay within the rule book.
"""

from collections.abc import Iterable

from rules.checks.across.cap_without_effect import RULE as CAP_WITHOUT_EFFECT
from rules.checks.across.epochs_shared import RULE as EPOCHS_SHARED
from rules.checks.across.power_patterns_shared import RULE as POWER_PATTERNS_SHARED
from rules.checks.across.readings_shared import RULE as READINGS_SHARED
from rules.checks.across.reproduction_not_counted import RULE as REPRODUCTION_NOT_COUNTED
from rules.checks.across.run_submitted_twice import RULE as RUN_SUBMITTED_TWICE
from rules.checks.caps.clocks_not_default import RULE as CLOCKS_NOT_DEFAULT
from rules.finding import Finding, Severity

_COPIES = frozenset(
    rule.id for rule in (READINGS_SHARED, RUN_SUBMITTED_TWICE, POWER_PATTERNS_SHARED, EPOCHS_SHARED)
)


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


def shares_readings(findings: Iterable[Finding]) -> bool:
    """Whether a bundle has readings, batches, epochs or noise of another one, and no waiver says
    that this is chance."""
    return any(
        finding.rule in _COPIES and not finding.waived and finding.severity != Severity.NOTE
        for finding in findings
    )
