"""Mutations that the rule `readbacks-incomplete` must find."""

from rules.bundle_format.records import Evidence
from rules.checks.caps.readbacks_incomplete import RULE
from rules.testing.case import mutation
from rules.testing.mutations import first_accelerator


def _remove(evidence: Evidence, when: str) -> None:
    first = first_accelerator(evidence)
    kept = [
        r for r in evidence.result["readbacks"] if (r["accelerator"], r["when"]) != (first, when)
    ]
    evidence.result["readbacks"] = kept


@mutation(RULE)
def none_at_the_end(evidence: Evidence) -> None:
    _remove(evidence, "after")


@mutation(RULE)
def cap_not_read(evidence: Evidence) -> None:
    for readback in evidence.result["readbacks"]:
        readback["enforced_mw"] = None


@mutation(RULE)
def none_after_one_epoch(evidence: Evidence) -> None:
    _remove(evidence, "epoch-4")
