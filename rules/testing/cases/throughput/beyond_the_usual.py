"""Mutations that the rule `beyond-the-usual` must find."""

from rules.checks.throughput.beyond_the_usual import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames


def scale_items(evidence: EvidenceFrames, factor: float) -> None:
    batch = round(evidence.result["settings"]["batch_size"] * factor)
    evidence.result["settings"]["batch_size"] = batch
    evidence.batches["items"] = batch


@mutation(RULE)
def items_near_the_peak(evidence: EvidenceFrames) -> None:
    scale_items(evidence, 0.9 / evidence.result["headline"]["mfu"]["mean"])


@mutation(RULE, may_report=("T104",))
def batch_that_no_search_tries(evidence: EvidenceFrames) -> None:
    scale_items(evidence, 4097 / evidence.result["settings"]["batch_size"])
