"""Mutations that the rule `environment-incomplete` must find."""

from rules.checks.system.environment_incomplete import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames


@mutation(RULE)
def no_packages(evidence: EvidenceFrames) -> None:
    evidence.environment["packages"] = {}


@mutation(RULE)
def no_driver(evidence: EvidenceFrames) -> None:
    evidence.environment["driver"] = None


@mutation(RULE, "M112")
def no_origin(evidence: EvidenceFrames) -> None:
    evidence.environment.update(git=None, container=None, source_sha256="0" * 64)
