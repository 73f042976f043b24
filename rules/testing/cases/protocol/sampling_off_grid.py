"""Mutations that the rule `sampling-off-grid` must find."""

from rules.checks.protocol.sampling_off_grid import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import select_every, select_first


@mutation(RULE)
def some_deadlines_moved(evidence: EvidenceFrames) -> None:
    evidence.samples.loc[select_every(10, select_first(evidence)), "scheduled_ns"] -= 7_000_000


@mutation(RULE)
def read_before_due(evidence: EvidenceFrames) -> None:
    evidence.samples["scheduled_ns"] += 100_000_000


@mutation(RULE)
def another_interval_stated(evidence: EvidenceFrames) -> None:
    evidence.result["sampling"]["interval_ms"] = 1000
