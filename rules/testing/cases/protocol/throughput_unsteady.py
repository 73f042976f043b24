"""Mutations that the rule `throughput-unsteady` must find."""

from rules.checks.protocol.throughput_unsteady import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import get_last_epoch, shorten_batches


@mutation(RULE, "P103", "T122")
def every_second_epoch_faster(evidence: EvidenceFrames) -> None:
    shorten_batches(evidence, 0.92, *range(1, get_last_epoch(evidence) + 1, 2))


@mutation(RULE, "P103", "T122")
def later_half_faster(evidence: EvidenceFrames) -> None:
    shorten_batches(evidence, 0.92, *range(6, get_last_epoch(evidence) + 1))
