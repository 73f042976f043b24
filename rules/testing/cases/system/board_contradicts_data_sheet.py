"""Mutations that the rule `board-contradicts-data-sheet` must find."""

from rules.checks.system.board_contradicts_data_sheet import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames


@mutation(RULE)
def more_power_than_the_data_sheet(evidence: EvidenceFrames) -> None:
    for accelerator in evidence.system["nodes"][0]["accelerators"]:
        accelerator["max_power_w"] *= 1.5


@mutation(RULE)
def memory_of_another_board(evidence: EvidenceFrames) -> None:
    for accelerator in evidence.system["nodes"][0]["accelerators"]:
        accelerator["memory_bytes"] = 40 * 2**30
