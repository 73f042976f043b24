"""Mutations that the rule `systems-differ` must find."""

from rules.bundle_format.records import Evidence
from rules.checks.across.systems_differ import RULE
from rules.testing.case import pairing


@pairing(RULE)
def another_driver(run: Evidence, other: Evidence) -> None:
    run.environment["driver"] = "535.104.05"


@pairing(RULE)
def another_firmware(run: Evidence, other: Evidence) -> None:
    for node in run.system["nodes"]:
        for accelerator in node["accelerators"]:
            accelerator["vbios"] = "96.00.30.00.01"


@pairing(RULE)
def another_memory_size(run: Evidence, other: Evidence) -> None:
    for node in run.system["nodes"]:
        for accelerator in node["accelerators"]:
            accelerator["memory_bytes"] -= 2**30
