"""Mutations that the rule `events-missing` must find."""

from rules import VERSION
from rules.checks.protocol.events_missing import FIRST_WITH_EVENTS, RULE
from rules.testing.case import mutation
from rules.testing.cases.protocol.node_clocks_disagree import note_clocks
from rules.testing.frames import EvidenceFrames


def leave_out_events(evidence: EvidenceFrames, rules_version: str) -> None:
    """Remove the events, and declare a rule book whose harness recorded them."""
    evidence.events = None
    evidence.result["rules_version"] = rules_version
    note_clocks(evidence)


@mutation(RULE)
def events_left_out(evidence: EvidenceFrames) -> None:
    leave_out_events(evidence, VERSION)


@mutation(RULE)
def events_of_the_first_rule_book_with_events_left_out(evidence: EvidenceFrames) -> None:
    leave_out_events(evidence, FIRST_WITH_EVENTS)
