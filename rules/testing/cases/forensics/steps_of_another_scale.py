"""Mutations that the rule `steps-of-another-scale` must find."""

from rules.checks.forensics.steps_of_another_scale import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import scale_readings


@mutation(RULE)
def all_readings_a_tenth_lower(evidence: EvidenceFrames) -> None:
    scale_readings(evidence, 0.9)


@mutation(RULE, "W119")
def all_readings_halved(evidence: EvidenceFrames) -> None:
    scale_readings(evidence, 0.5)
