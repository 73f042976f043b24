"""Mutations that the rule `beyond-the-usual` must find."""

from rules.bundle_format.records import Evidence
from rules.checks.throughput.beyond_the_usual import RULE
from rules.testing.case import mutation


def _more(evidence: Evidence, factor: float) -> None:
    batch = round(evidence.result["settings"]["batch_size"] * factor)
    evidence.result["settings"]["batch_size"] = batch
    evidence.batches["items"] = batch


@mutation(RULE)
def items_near_the_peak(evidence: Evidence) -> None:
    _more(evidence, 0.9 / evidence.result["headline"]["mfu"]["mean"])


@mutation(RULE, may_report=("T104",))
def batch_that_no_search_tries(evidence: Evidence) -> None:
    _more(evidence, 4097 / evidence.result["settings"]["batch_size"])
