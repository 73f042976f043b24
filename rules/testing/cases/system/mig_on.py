"""Mutations that the rule `mig-on` must find."""

from rules.bundle_format.records import Evidence
from rules.checks.system.mig_on import RULE
from rules.testing.case import mutation


@mutation(RULE)
def mig_on_throughout(evidence: Evidence) -> None:
    for readback in evidence.result["readbacks"]:
        readback["mig"] = True


@mutation(RULE)
def mig_on_at_the_end(evidence: Evidence) -> None:
    evidence.result["readbacks"][-1]["mig"] = True
