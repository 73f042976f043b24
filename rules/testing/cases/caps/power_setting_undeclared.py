"""Mutations that the rule `power-setting-undeclared` must find."""

from rules.bundle_format.records import Evidence
from rules.checks.caps.power_setting_undeclared import RULE
from rules.testing.case import mutation


@mutation(RULE)
def no_cap(evidence: Evidence) -> None:
    evidence.result["power"]["cap_w"] = None


@mutation(RULE)
def no_state(evidence: Evidence) -> None:
    evidence.result["power"]["state"] = None


@mutation(RULE)
def another_state_declared_and_kept(evidence: Evidence) -> None:
    evidence.result["power"]["state"] = "P2"
    evidence.samples["power_state"] = "P2"
