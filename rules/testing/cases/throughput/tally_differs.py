"""Mutations that the rule `tally-differs` must find."""

from rules.checks.throughput.tally_differs import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames


@mutation(RULE, serving=True)
def server_counted_fewer(evidence: EvidenceFrames) -> None:
    evidence.result["tally"]["server_output_tokens"] -= 512


@mutation(RULE, serving=True)
def tally_of_a_shorter_run(evidence: EvidenceFrames) -> None:
    evidence.result["tally"].update(client_output_tokens=4096, server_output_tokens=4096)
