"""Mutations that the rule `environment-incomplete` must find."""

from rules.bundle_format.records import Evidence
from rules.checks.system.environment_incomplete import RULE
from rules.testing.case import mutation


@mutation(RULE)
def no_packages(evidence: Evidence) -> None:
    evidence.environment["packages"] = {}


@mutation(RULE)
def no_driver(evidence: Evidence) -> None:
    evidence.environment["driver"] = None


@mutation(RULE, "M112")
def no_origin(evidence: Evidence) -> None:
    evidence.environment.update(git=None, container=None, source_sha256="0" * 64)
