"""Mutations that the rule `discarded-epoch-scored` must find."""

from rules.bundle_format.records import Evidence
from rules.checks.protocol.discarded_epoch_scored import RULE
from rules.testing.case import mutation


@mutation(RULE, rederive=False)
def first_epoch_scored(evidence: Evidence) -> None:
    evidence.result["epochs"][0]["scored"] = True


@mutation(RULE, rederive=False)
def later_epoch_declared_a_warm_up(evidence: Evidence) -> None:
    evidence.result["epochs"][6]["scored"] = False
