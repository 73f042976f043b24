"""Mutations that the rule `evidence-left-out` must find."""

from rules import VERSION
from rules.checks.protocol.evidence_left_out import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames


@mutation(RULE, may_report=("P118", "P125"))
def losses_left_out(evidence: EvidenceFrames) -> None:
    evidence.result["rules_version"] = VERSION
    for epoch in evidence.result["epochs"]:
        epoch.pop("losses", None)


@mutation(RULE, may_report=("P118", "P125"))
def losses_of_one_epoch_left_out(evidence: EvidenceFrames) -> None:
    evidence.result["rules_version"] = VERSION
    evidence.result["epochs"][3].pop("losses", None)


@mutation(RULE, may_report=("P118", "P125"))
def hash_of_the_input_left_out(evidence: EvidenceFrames) -> None:
    evidence.result["rules_version"] = VERSION
    evidence.result["ranks"][0].pop("inputs_sha256", None)
