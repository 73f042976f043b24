"""Mutations that the rule `accelerator-in-two-runs` must find."""

from datetime import datetime, timedelta

from rules.checks.across.accelerator_in_two_runs import RULE
from rules.testing.case import pairing
from rules.testing.frames import EvidenceFrames


def schedule_at(evidence: EvidenceFrames, other_run: EvidenceFrames, delay: timedelta) -> None:
    for name in ("started_at", "ended_at"):
        evidence.result[name] = (datetime.fromisoformat(other_run.result[name]) + delay).strftime(
            "%Y-%m-%dT%H:%M:%SZ"
        )


@pairing(RULE, both_at_fault=True)
def two_runs_side_by_side(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    schedule_at(run, other_run, timedelta(0))


@pairing(RULE, both_at_fault=True)
def second_run_begun_before_the_end_of_the_first(
    run: EvidenceFrames, other_run: EvidenceFrames
) -> None:
    schedule_at(run, other_run, timedelta(minutes=2))
