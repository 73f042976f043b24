"""Mutations that the rule `accelerator-idle` must find."""

from rules.checks.power.accelerator_idle import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import select_load


@mutation(RULE)
def idle_in_all_epochs(evidence: EvidenceFrames) -> None:
    evidence.samples.loc[select_load(evidence), "util_pct"] = 0.0


@mutation(RULE)
def idle_in_one_epoch(evidence: EvidenceFrames) -> None:
    evidence.samples.loc[select_load(evidence, 6), "util_pct"] = 0.0
