"""Mutations that the rule `board-name-varied` must find."""

from rules.checks.system.board_name_varied import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames


def rename_boards(evidence: EvidenceFrames, name: str) -> None:
    for node in evidence.system["nodes"]:
        for accelerator in node["accelerators"]:
            accelerator["name"] = name


@mutation(RULE, "M107", "T124")
def memory_in_the_name(evidence: EvidenceFrames) -> None:
    rename_boards(evidence, "NVIDIA H200 141GB HBM3e")


@mutation(RULE, "M107", "T124")
def another_case_and_a_space(evidence: EvidenceFrames) -> None:
    rename_boards(evidence, "nvidia  h200")
