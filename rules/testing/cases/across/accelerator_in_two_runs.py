"""Mutations that the rule `accelerator-in-two-runs` must find."""

from datetime import datetime, timedelta

from rules.checks.across.accelerator_in_two_runs import RULE
from rules.testing.case import pairing
from rules.testing.frames import EvidenceFrames


def _at(evidence: EvidenceFrames, other: EvidenceFrames, later: timedelta) -> None:
    for name in ("started_at", "ended_at"):
        evidence.result[name] = (datetime.fromisoformat(other.result[name]) + later).strftime(
            "%Y-%m-%dT%H:%M:%SZ"
        )


@pairing(RULE, both=True)
def two_runs_side_by_side(run: EvidenceFrames, other: EvidenceFrames) -> None:
    _at(run, other, timedelta(0))


@pairing(RULE, both=True)
def second_run_begun_before_the_end_of_the_first(
    run: EvidenceFrames, other: EvidenceFrames
) -> None:
    _at(run, other, timedelta(minutes=2))
