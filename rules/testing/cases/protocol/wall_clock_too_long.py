"""Mutations that the rule `wall-clock-too-long` must find."""

from datetime import datetime, timedelta

from rules.checks.protocol.wall_clock_too_long import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames


def lengthen_run(evidence: EvidenceFrames, duration: timedelta) -> None:
    started_at = datetime.fromisoformat(evidence.result["started_at"])
    evidence.result["started_at"] = (started_at - duration).strftime("%Y-%m-%dT%H:%M:%SZ")


@mutation(RULE)
def half_a_day_of_runs(evidence: EvidenceFrames) -> None:
    lengthen_run(evidence, timedelta(hours=12))


@mutation(RULE)
def two_hours_before(evidence: EvidenceFrames) -> None:
    lengthen_run(evidence, timedelta(hours=2))
