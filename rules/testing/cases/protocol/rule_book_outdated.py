"""Mutations that the rule `rule-book-outdated` must find."""

from rules.checks.protocol.rule_book_outdated import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames


def end_on(evidence: EvidenceFrames, day: str) -> None:
    for name in ("started_at", "ended_at"):
        evidence.result[name] = day + evidence.result[name][len(day) :]


@mutation(RULE, may_report=("P123",))
def first_rule_book_without_what_it_did_not_ask_for(evidence: EvidenceFrames) -> None:
    end_on(evidence, "2026-11-25")
    evidence.result["rules_version"] = "1.0.0"
    evidence.result.pop("clocks", None)
    evidence.events = None


@mutation(RULE, may_report=("P118", "P123", "P125"))
def rule_book_replaced_days_before(evidence: EvidenceFrames) -> None:
    end_on(evidence, "2026-11-27")
    evidence.result["rules_version"] = "1.7.0"
