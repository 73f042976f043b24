"""Mutations that the rule `input-unproven` must find."""

from rules.checks.throughput.input_unproven import HASH_OF_EMPTY_FILE, RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames


@mutation(RULE, "P112")
def synthetic_claimed_as_real(evidence: EvidenceFrames) -> None:
    evidence.result["settings"]["input"] = "real"


@mutation(RULE, "P112", "T107")
def corpus_of_nothing(evidence: EvidenceFrames) -> None:
    evidence.result["settings"].update(input="real", corpus_sha256=HASH_OF_EMPTY_FILE)


@mutation(RULE)
def weights_by_name_alone(evidence: EvidenceFrames) -> None:
    evidence.result["settings"]["weights"] = "meta-llama/Meta-Llama-3-8B"


@mutation(RULE, serving=True)
def weights_without_a_hash(evidence: EvidenceFrames) -> None:
    evidence.result["settings"]["weights"] = "sha256:"
