"""Mutations that the rule `sampling-off-grid` must find."""

from rules.bundle_format.records import Evidence
from rules.checks.protocol.sampling_off_grid import RULE
from rules.testing.case import mutation
from rules.testing.mutations import every, of_first


@mutation(RULE)
def some_deadlines_moved(evidence: Evidence) -> None:
    evidence.samples.loc[every(10, of_first(evidence)), "scheduled_ns"] -= 7_000_000


@mutation(RULE)
def read_before_due(evidence: Evidence) -> None:
    evidence.samples["scheduled_ns"] += 100_000_000


@mutation(RULE)
def another_interval_stated(evidence: Evidence) -> None:
    evidence.result["sampling"]["interval_ms"] = 1000
