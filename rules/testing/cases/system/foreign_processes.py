"""Mutations that the rule `foreign-processes` must find."""

from rules.checks.system.foreign_processes import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames


@mutation(RULE)
def neighbour_during_an_epoch(evidence: EvidenceFrames) -> None:
    next(r for r in evidence.result["readbacks"] if r["when"] == "epoch-3")["foreign_processes"] = 1


@mutation(RULE)
def neighbour_all_the_time(evidence: EvidenceFrames) -> None:
    for readback in evidence.result["readbacks"]:
        readback["foreign_processes"] = 2
