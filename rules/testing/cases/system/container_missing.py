"""Mutations that the rule `container-missing` must find."""

from rules.checks.system.container_missing import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames


@mutation(RULE)
def outside_of_a_container(evidence: EvidenceFrames) -> None:
    evidence.environment["container"] = None


@mutation(RULE)
def name_of_an_image_alone(evidence: EvidenceFrames) -> None:
    evidence.environment["container"] = "wattmark-vision-cuda:latest"
