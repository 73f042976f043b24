"""Mutations that the rule `interval-wrong` must find."""

from rules.checks.throughput.interval_wrong import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames


@mutation(RULE, rederive=False)
def interval_narrowed(evidence: EvidenceFrames) -> None:
    figure = evidence.result["headline"]["joules_per_item"]
    figure["ci95"] = [figure["mean"], figure["mean"]]


@mutation(RULE, rederive=False)
def spread_understated(evidence: EvidenceFrames) -> None:
    evidence.result["headline"]["items_per_s"]["sd"] = 0.0


@mutation(RULE, rederive=False)
def discarded_epoch_counted(evidence: EvidenceFrames) -> None:
    evidence.result["headline"]["mfu"]["n"] += 1
