"""Mutations that the rule `throughput-above-peak` must find."""

import math

from rules.checks.throughput.throughput_above_peak import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import shorten_batches


def exceed_peak(evidence: EvidenceFrames) -> int:
    mfu: float = evidence.result["headline"]["mfu"]["mean"]
    return math.ceil(1.5 / mfu)


@mutation(RULE, "T114")
def items_multiplied(evidence: EvidenceFrames) -> None:
    factor = exceed_peak(evidence)
    evidence.result["settings"]["batch_size"] *= factor
    evidence.batches["items"] *= factor


@mutation(RULE, "P103", "T109", may_report=("E103", "E104"))
def windows_cover_a_fraction_of_the_batch(evidence: EvidenceFrames) -> None:
    shorten_batches(evidence, 1 / exceed_peak(evidence))


@mutation(RULE, "P116", "T107", "P117", "T111", serving=True)
def answers_longer_than_any_board_can_give(evidence: EvidenceFrames) -> None:
    evidence.result["settings"]["requests"]["output_tokens"] *= 100
    evidence.batches["items"] *= 100
