"""Mutations that the rule `foreign-processes` must find."""

from rules.bundle_format.records import Evidence
from rules.checks.system.foreign_processes import RULE
from rules.testing.case import mutation


@mutation(RULE)
def neighbour_during_an_epoch(evidence: Evidence) -> None:
    next(r for r in evidence.result["readbacks"] if r["when"] == "epoch-3")["foreign_processes"] = 1


@mutation(RULE)
def neighbour_all_the_time(evidence: Evidence) -> None:
    for readback in evidence.result["readbacks"]:
        readback["foreign_processes"] = 2
