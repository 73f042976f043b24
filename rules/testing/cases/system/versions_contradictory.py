"""Mutations that the rule `versions-contradictory` must find."""

from rules.checks.system.versions_contradictory import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames


@mutation(RULE)
def driver_too_old_for_torch(evidence: EvidenceFrames) -> None:
    evidence.environment["driver"] = "535.104.05"
    evidence.environment["packages"]["torch"] = "2.11.0+cu130"


@mutation(RULE)
def driver_too_old_for_the_runtime(evidence: EvidenceFrames) -> None:
    evidence.environment["driver"] = "470.57.02"
    evidence.environment["packages"]["nvidia-cuda-runtime-cu12"] = "12.8.90"


@mutation(RULE)
def runtime_of_another_cuda(evidence: EvidenceFrames) -> None:
    evidence.environment["packages"].update(
        {"torch": "2.11.0+cu128", "nvidia-cuda-runtime": "13.0.96"}
    )


@mutation(RULE)
def torchvision_of_another_torch(evidence: EvidenceFrames) -> None:
    evidence.environment["packages"].update({"torch": "2.11.0", "torchvision": "0.21.0"})
