"""Mutations that the rule `wall-clock-too-short` must find."""

from rules.checks.protocol.wall_clock_too_short import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames


@mutation(RULE)
def ended_when_it_started(evidence: EvidenceFrames) -> None:
    evidence.result["ended_at"] = evidence.result["started_at"]


@mutation(RULE)
def ended_before_it_started(evidence: EvidenceFrames) -> None:
    evidence.result["ended_at"] = "2020-02-02T02:02:02Z"


@mutation(RULE)
def no_such_date(evidence: EvidenceFrames) -> None:
    evidence.result["started_at"] = "2026-02-31T00:00:00Z"
