"""Mutations that the rule `inputs-contradict-seed` must find."""

from rules.checks.across.inputs_contradict_seed import RULE
from rules.testing.case import pairing
from rules.testing.frames import EvidenceFrames


@pairing(RULE, both_at_fault=True, other_center=True)
def input_of_another_seed(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    other_run.result["settings"]["seed"] = run.result["settings"]["seed"]
    _state_inputs(run, "a")
    _state_inputs(other_run, "b")


@pairing(RULE, both_at_fault=True, other_center=True)
def input_of_one_rank_of_another_seed(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    other_run.result["settings"]["seed"] = run.result["settings"]["seed"]
    _state_inputs(run, "a")
    _state_inputs(other_run, "a")
    other_run.result["ranks"][-1]["inputs_sha256"] = "b" * 64


def _state_inputs(evidence: EvidenceFrames, digit: str) -> None:
    for rank in evidence.result["ranks"]:
        rank["inputs_sha256"] = digit * 64
