"""Mutations that the rule `active-share-low` must find."""

from rules.checks.throughput.active_share_low import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import shorten_batches


@mutation(RULE, "P103", may_report=("E103", "E104"))
def forward_pass_only(evidence: EvidenceFrames) -> None:
    shorten_batches(evidence, 0.35)


@mutation(RULE, "P103")
def optimiser_left_out(evidence: EvidenceFrames) -> None:
    shorten_batches(evidence, 0.88)
