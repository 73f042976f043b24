"""Mutations that the rule `clocks-not-default` must find."""

from rules.checks.caps.clocks_not_default import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import get_first_accelerator, select_every, select_load


def set_clocks(evidence: EvidenceFrames, sm_mhz: int) -> None:
    for readback in evidence.result["readbacks"]:
        readback.update(
            sm_set_mhz=sm_mhz, sm_default_mhz=1980, mem_set_mhz=3201, mem_default_mhz=3201
        )


@mutation(RULE)
def application_clocks_lowered(evidence: EvidenceFrames) -> None:
    set_clocks(evidence, 1200)


@mutation(RULE)
def memory_clock_lowered_on_one_board(evidence: EvidenceFrames) -> None:
    set_clocks(evidence, 1980)
    for readback in evidence.result["readbacks"]:
        if readback["accelerator"] == get_first_accelerator(evidence):
            readback["mem_set_mhz"] = 2619


@mutation(RULE, may_report=("C112",))
def clock_held_and_not_read_back(evidence: EvidenceFrames) -> None:
    evidence.samples.loc[select_load(evidence), "slowdown"] = float(0x2)


@mutation(RULE)
def sync_boost_at_default_clocks(evidence: EvidenceFrames) -> None:
    set_clocks(evidence, 1980)
    evidence.samples.loc[select_every(100, select_load(evidence)), "slowdown"] = float(0x4 | 0x10)
