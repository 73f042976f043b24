"""Mutations that the rule `ended-in-the-future` must find."""

from datetime import UTC, datetime, timedelta

from rules.checks.protocol.ended_in_the_future import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames


def move_later(evidence: EvidenceFrames, later: timedelta) -> None:
    for name in ("started_at", "ended_at"):
        moved = datetime.fromisoformat(evidence.result[name]) + later
        evidence.result[name] = moved.strftime("%Y-%m-%dT%H:%M:%SZ")


@mutation(RULE)
def made_in_a_year(evidence: EvidenceFrames) -> None:
    move_later(
        evidence,
        datetime.now(UTC)
        - datetime.fromisoformat(evidence.result["started_at"])
        + timedelta(days=365),
    )


@mutation(RULE)
def made_in_two_days(evidence: EvidenceFrames) -> None:
    move_later(
        evidence,
        datetime.now(UTC) - datetime.fromisoformat(evidence.result["ended_at"]) + timedelta(days=2),
    )
