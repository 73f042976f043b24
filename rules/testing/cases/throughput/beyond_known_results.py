"""Mutations that the rule `beyond-known-results` must find."""

from rules.checks.throughput.beyond_known_results import RULE
from rules.testing.case import mutation
from rules.testing.cases.throughput.beyond_the_usual import scale_items
from rules.testing.frames import EvidenceFrames


@mutation(RULE)
def batch_size_and_items_a_quarter_higher(evidence: EvidenceFrames) -> None:
    scale_items(evidence, 1.25)


@mutation(RULE)
def batch_size_and_items_doubled(evidence: EvidenceFrames) -> None:
    scale_items(evidence, 2.0)
