"""Mutations that the rule `requests-missing` must find."""

from rules.checks.protocol.requests_missing import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames


@mutation(RULE, serving=True)
def table_left_out(evidence: EvidenceFrames) -> None:
    evidence.requests = None


@mutation(RULE, serving=True)
def tally_left_out(evidence: EvidenceFrames) -> None:
    del evidence.result["tally"]


@mutation(RULE)
def training_with_a_tally(evidence: EvidenceFrames) -> None:
    evidence.result["tally"] = {"requests": 1, "client_output_tokens": 1, "server_output_tokens": 1}
