"""Mutations that the rule `board-unknown` must find."""

from rules.checks.system.board_unknown import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import get_first_accelerator


def rename_boards(evidence: EvidenceFrames, only_first: bool) -> None:
    for node in evidence.system["nodes"]:
        for accelerator in node["accelerators"]:
            if not only_first or accelerator["uuid"] == get_first_accelerator(evidence):
                accelerator["name"] = "Example Accelerator 9000"


@mutation(RULE, "T124")
def all_boards_unknown(evidence: EvidenceFrames) -> None:
    rename_boards(evidence, only_first=False)


@mutation(RULE, "T124")
def one_board_unknown(evidence: EvidenceFrames) -> None:
    rename_boards(evidence, only_first=True)
