"""Mutations that the rule `workload-unknown` must find."""

from rules.checks.throughput.workload_unknown import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames


@mutation(RULE, "T101")
def name_of_their_own(evidence: EvidenceFrames) -> None:
    evidence.result["workload"] = "alexnet-train"


@mutation(RULE, "T101")
def name_misspelt(evidence: EvidenceFrames) -> None:
    evidence.result["workload"] = evidence.result["workload"].upper()
