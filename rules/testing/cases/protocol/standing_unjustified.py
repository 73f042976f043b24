"""Mutations that the rule `standing-unjustified` must find."""

from rules.boards import SIMULATED_PREFIX
from rules.checks.protocol.standing_unjustified import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import lock_sm_clock


@mutation(RULE)
def simulated_meter(evidence: EvidenceFrames) -> None:
    evidence.result["sampling"]["meter"] = "simulated:h200"


@mutation(RULE, "M115")
def simulated_boards(evidence: EvidenceFrames) -> None:
    for accelerator in evidence.system["nodes"][0]["accelerators"]:
        accelerator["name"] = SIMULATED_PREFIX + accelerator["name"]


@mutation(RULE, "T107")
def smoke_size(evidence: EvidenceFrames) -> None:
    evidence.result["size"] = "smoke"


@mutation(RULE, "T112")
def real_input(evidence: EvidenceFrames) -> None:
    evidence.result["settings"]["input"] = "real"


@mutation(RULE)
def closed_with_a_locked_clock(evidence: EvidenceFrames) -> None:
    lock_sm_clock(evidence, 1200)
    evidence.result["standing"] = "closed"


@mutation(RULE)
def control_of_a_workload(evidence: EvidenceFrames) -> None:
    evidence.result["standing"] = "control"


@mutation(RULE, "T104", "T107", "T124")
def closed_control(evidence: EvidenceFrames) -> None:
    evidence.result["workload"] = "burn"
