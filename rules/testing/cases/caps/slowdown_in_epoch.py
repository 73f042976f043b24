"""Mutations that the rule `slowdown-in-epoch` must find."""

from rules.checks.caps.slowdown_in_epoch import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import get_first_accelerator, select_every, select_load


def convert_to_amd(evidence: EvidenceFrames) -> None:
    """Let the first accelerator be one whose meter gives AMD's bits, and the power cap be what
    holds it down."""
    board = get_first_accelerator(evidence)
    for node in evidence.system["nodes"]:
        for accelerator in node["accelerators"]:
            if accelerator["uuid"] == board:
                accelerator["vendor"] = "AMD"
    evidence.samples.loc[select_load(evidence), "slowdown"] = float(0x2)


@mutation(RULE)
def thermal_slowdown_now_and_then(evidence: EvidenceFrames) -> None:
    evidence.samples.loc[select_every(300, select_load(evidence)), "slowdown"] = float(0x4 | 0x20)


@mutation(RULE)
def power_brake_in_one_epoch(evidence: EvidenceFrames) -> None:
    evidence.samples.loc[select_load(evidence, 8), "slowdown"] = float(0x80)


@mutation(RULE, "M115")
def hot_memory_of_an_amd_board(evidence: EvidenceFrames) -> None:
    convert_to_amd(evidence)
    evidence.samples.loc[select_every(300, select_load(evidence)), "slowdown"] = float(0x2 | 0x10)


@mutation(RULE, "M115")
def hot_processor_of_an_amd_board(evidence: EvidenceFrames) -> None:
    convert_to_amd(evidence)
    evidence.samples.loc[select_load(evidence, 8), "slowdown"] = float(0x1)
