"""Mutations that the rule `wall-clock-too-long` must find."""

from datetime import datetime, timedelta

from rules.bundle_format.records import Evidence
from rules.checks.protocol.wall_clock_too_long import RULE
from rules.testing.case import mutation


def _longer(evidence: Evidence, longer: timedelta) -> None:
    started = datetime.fromisoformat(evidence.result["started_at"])
    evidence.result["started_at"] = (started - longer).strftime("%Y-%m-%dT%H:%M:%SZ")


@mutation(RULE)
def half_a_day_of_runs(evidence: Evidence) -> None:
    _longer(evidence, timedelta(hours=12))


@mutation(RULE)
def two_hours_before(evidence: Evidence) -> None:
    _longer(evidence, timedelta(hours=2))
