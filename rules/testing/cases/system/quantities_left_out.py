"""Mutations that the rule `quantities-left-out` must find."""

from rules.checks.system.quantities_left_out import RULE
from rules.testing.case import mutation
from rules.testing.cases.power.readings_left_out import leave_out
from rules.testing.frames import EvidenceFrames


@mutation(RULE)
def averages_left_out(evidence: EvidenceFrames) -> None:
    leave_out(evidence, "power_avg_mw")


@mutation(RULE)
def memory_clock_left_out(evidence: EvidenceFrames) -> None:
    leave_out(evidence, "mem_mhz")


@mutation(RULE)
def limits_not_read_back(evidence: EvidenceFrames) -> None:
    for readback in evidence.result["readbacks"]:
        readback.update(min_mw=None, max_mw=None, default_mw=None)


@mutation(RULE)
def slicing_and_errors_read_back_once(evidence: EvidenceFrames) -> None:
    for readback in evidence.result["readbacks"]:
        if readback["when"] != "before":
            readback.update(mig=None, ecc_uncorrected=None, ecc_corrected=None)


@mutation(RULE, "M111", "M116", "T124")
def clock_of_an_amd_board_left_out(evidence: EvidenceFrames) -> None:
    for node in evidence.system["nodes"]:
        for accelerator in node["accelerators"]:
            accelerator.update(name="AMD Instinct MI300X", vendor="AMD")
    evidence.samples["slowdown"] = 2.0
    leave_out(evidence, "sm_mhz")
