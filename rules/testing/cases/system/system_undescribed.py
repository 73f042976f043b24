"""Mutations that the rule `system-undescribed` must find."""

from rules.bundle_format.records import Evidence
from rules.checks.system.system_undescribed import RULE
from rules.testing.case import mutation


@mutation(RULE)
def empty_site(evidence: Evidence) -> None:
    evidence.system["site"] = ""


@mutation(RULE)
def cooling_to_be_said_later(evidence: Evidence) -> None:
    evidence.system["cooling"] = "TODO"


@mutation(RULE)
def blank_processor(evidence: Evidence) -> None:
    evidence.system["nodes"][0]["cpu"] = "  "
