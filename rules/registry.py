"""The rule book: every module below `rules/checks/` defines one rule, and is found by discovery."""

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import rules.checks
from rules.finding import Finding
from rules.rule import (
    AuditRule,
    BundleRule,
    FormRule,
    ObservationRoundRule,
    ObservationRule,
    RoundRule,
    Rule,
    StudyRoundRule,
    StudyRule,
)

if TYPE_CHECKING:  # the pages of rules are shown without NumPy, which takes 0.1 s to load
    from rules.views import AnyBundle


@cache
def rules_by_id() -> Mapping[str, Rule]:
    """All rules of the book, sorted by id. Raises ValueError if two rules have the same id."""
    book: dict[str, Rule] = {}
    for info in pkgutil.walk_packages(rules.checks.__path__, f"{rules.checks.__name__}."):
        if info.ispkg:
            continue
        module: Any = importlib.import_module(info.name)
        rule: Rule = module.RULE
        if rule.id in book:
            other = book[rule.id].module
            raise ValueError(f"{rule.module}: the id {rule.id} is already used by {other}")
        book[rule.id] = rule
    return dict(sorted(book.items()))


def form_rules() -> tuple[FormRule, ...]:
    """The rules on form and integrity, sorted by id."""
    return tuple(rule for rule in rules_by_id().values() if isinstance(rule, FormRule))


def bundle_rules() -> tuple[BundleRule, ...]:
    """The rules on the evidence of one run, sorted by id."""
    return tuple(rule for rule in rules_by_id().values() if isinstance(rule, BundleRule))


def study_rules() -> tuple[StudyRule, ...]:
    """The rules on the evidence of one study, sorted by id."""
    return tuple(rule for rule in rules_by_id().values() if isinstance(rule, StudyRule))


def observation_rules() -> tuple[ObservationRule, ...]:
    """The rules on the evidence of one observed job, sorted by id."""
    return tuple(rule for rule in rules_by_id().values() if isinstance(rule, ObservationRule))


def round_rules() -> tuple[RoundRule, ...]:
    """The rules across the runs of a round, sorted by id."""
    return tuple(rule for rule in rules_by_id().values() if isinstance(rule, RoundRule))


def study_round_rules() -> tuple[StudyRoundRule, ...]:
    """The rules across the studies of a round, sorted by id."""
    return tuple(rule for rule in rules_by_id().values() if isinstance(rule, StudyRoundRule))


def observation_round_rules() -> tuple[ObservationRoundRule, ...]:
    """The rules across the observed jobs of a round, sorted by id."""
    return tuple(rule for rule in rules_by_id().values() if isinstance(rule, ObservationRoundRule))


def audit_rules() -> tuple[AuditRule, ...]:
    """The rules on one result of another program, sorted by id."""
    return tuple(rule for rule in rules_by_id().values() if isinstance(rule, AuditRule))


def is_form_finding(finding: Finding) -> bool:
    """Whether a rule on form or integrity reports the finding."""
    return isinstance(rules_by_id().get(finding.rule), FormRule)


def judge_form(bundle: "AnyBundle") -> tuple[Finding, ...]:
    """The findings of all rules on form and integrity."""
    return tuple(finding for rule in form_rules() for finding in rule.judge(bundle))
