"""Mutations that the rule `exclusivity-unverified` must find."""

from rules.bundle_format.records import Evidence
from rules.checks.system.exclusivity_unverified import RULE
from rules.testing.case import mutation


@mutation(RULE)
def never_looked(evidence: Evidence) -> None:
    for readback in evidence.result["readbacks"]:
        readback["foreign_processes"] = None


@mutation(RULE)
def looked_at_the_beginning_only(evidence: Evidence) -> None:
    for readback in evidence.result["readbacks"]:
        if readback["when"] != "before":
            readback["foreign_processes"] = None
