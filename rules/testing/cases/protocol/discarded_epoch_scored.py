"""Mutations that the rule `discarded-epoch-scored` must find."""

from rules.checks.protocol.discarded_epoch_scored import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames


@mutation(RULE, rederive=False)
def first_epoch_scored(evidence: EvidenceFrames) -> None:
    evidence.result["epochs"][0]["scored"] = True


@mutation(RULE, rederive=False)
def later_epoch_declared_a_warm_up(evidence: EvidenceFrames) -> None:
    evidence.result["epochs"][6]["scored"] = False
