"""Mutations that the rule `software-of-another-vendor` must find."""

from rules.checks.system.software_of_another_vendor import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames


@mutation(RULE)
def torch_for_amd(evidence: EvidenceFrames) -> None:
    evidence.environment["packages"]["torch"] = "2.11.0+rocm7.2"


@mutation(RULE)
def torch_without_an_accelerator(evidence: EvidenceFrames) -> None:
    evidence.environment["packages"]["torch"] = "2.11.0+cpu"


@mutation(RULE)
def meter_of_another_vendor(evidence: EvidenceFrames) -> None:
    evidence.result["sampling"]["meter"] = "amd"
