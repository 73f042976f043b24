"""Mutations that the rule `no-known-result` must find."""

from rules.checks.throughput.no_known_result import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames


def rename_boards(evidence: EvidenceFrames, name: str) -> None:
    for node in evidence.system["nodes"]:
        for accelerator in node["accelerators"]:
            accelerator["name"] = name


@mutation(RULE, "M116")
def board_of_another_kind(evidence: EvidenceFrames) -> None:
    rename_boards(evidence, "NVIDIA B200")


@mutation(RULE, "M107")
def board_of_no_data_sheet(evidence: EvidenceFrames) -> None:
    rename_boards(evidence, "NVIDIA A16")
