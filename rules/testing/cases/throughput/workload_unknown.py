"""Mutations that the rule `workload-unknown` must find."""

from rules.bundle_format.records import Evidence
from rules.checks.throughput.workload_unknown import RULE
from rules.testing.case import mutation


@mutation(RULE, "T101")
def name_of_their_own(evidence: Evidence) -> None:
    evidence.result["workload"] = "alexnet-train"


@mutation(RULE, "T101")
def name_misspelt(evidence: Evidence) -> None:
    evidence.result["workload"] = evidence.result["workload"].upper()
