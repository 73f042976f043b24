"""Mutations that the rule `unknown-accelerator` must find."""

from rules.checks.system.unknown_accelerator import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import concatenate, get_first_accelerator, select_first


@mutation(RULE, "M102")
def another_uuid_in_the_system(evidence: EvidenceFrames) -> None:
    for node in evidence.system["nodes"]:
        for accelerator in node["accelerators"]:
            if accelerator["uuid"] == get_first_accelerator(evidence):
                accelerator["uuid"] = "GPU-99999999-9999-9999-9999-999999999999"


@mutation(RULE, "M102")
def samples_of_a_board_that_is_not_listed(evidence: EvidenceFrames) -> None:
    unlisted_samples = evidence.samples[select_first(evidence)].copy()
    unlisted_samples["accelerator"] = "GPU-99999999-9999-9999-9999-999999999999"
    evidence.samples = concatenate(evidence.samples, unlisted_samples)
