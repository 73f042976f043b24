"""Mutations that the rule `ecc-errors-grow` must find."""

from rules.checks.system.ecc_errors_grow import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames


@mutation(RULE)
def corrected_errors_grow(evidence: EvidenceFrames) -> None:
    evidence.result["readbacks"][-1]["ecc_corrected"] += 3


@mutation(RULE)
def uncorrected_errors_grow(evidence: EvidenceFrames) -> None:
    next(r for r in evidence.result["readbacks"] if r["when"] == "epoch-6")["ecc_uncorrected"] += 1
