"""Mutations that the rule `cap-not-enforced` must find."""

from rules.checks.caps.cap_not_enforced import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import declare_cap, select_load


@mutation(RULE)
def far_lower_cap_accepted_and_ignored(evidence: EvidenceFrames) -> None:
    declare_cap(evidence, evidence.result["readbacks"][0]["min_mw"] / 1e3)


@mutation(RULE)
def slightly_lower_cap_ignored(evidence: EvidenceFrames) -> None:
    mean_mw = evidence.samples.loc[select_load(evidence), "power_mw"].mean()
    declare_cap(evidence, round(mean_mw / 1e3 / 1.05))
