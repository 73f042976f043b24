"""Mutations that the rule `accelerator-unsampled` must find."""

from rules.checks.power.accelerator_unsampled import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import get_first_accelerator

SPARE = "GPU-00000000-0000-0000-0000-00000000beef"


def add_spare(evidence: EvidenceFrames) -> None:
    accelerators = evidence.system["nodes"][0]["accelerators"]
    accelerators.append({**accelerators[0], "uuid": SPARE})


@mutation(RULE, "T101", "M102")
def another_board_sampled(evidence: EvidenceFrames) -> None:
    add_spare(evidence)
    samples = evidence.samples
    samples["accelerator"] = samples["accelerator"].where(
        samples["accelerator"] != get_first_accelerator(evidence), SPARE
    )


@mutation(RULE, "T101", "M102")
def work_attributed_to_an_unsampled_board(evidence: EvidenceFrames) -> None:
    add_spare(evidence)
    board = get_first_accelerator(evidence)
    evidence.result["ranks"][0]["accelerators"][0] = SPARE
    for readback in evidence.result["readbacks"]:
        if readback["accelerator"] == board:
            readback["accelerator"] = SPARE
