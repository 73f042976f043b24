"""Mutations that the rule `systems-differ` must find."""

from rules.checks.across.systems_differ import RULE
from rules.testing.case import pairing
from rules.testing.frames import EvidenceFrames


@pairing(RULE)
def another_driver(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    run.environment["driver"] = "535.104.05"


@pairing(RULE)
def another_firmware(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    for node in run.system["nodes"]:
        for accelerator in node["accelerators"]:
            accelerator["vbios"] = "96.00.30.00.01"


@pairing(RULE)
def another_memory_size(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    for node in run.system["nodes"]:
        for accelerator in node["accelerators"]:
            accelerator["memory_bytes"] -= 2**30
