"""Mutations that the rule `power-above-board` must find."""

from rules.boards import highest_power_w
from rules.bundle_format.table import POWER_COLUMNS
from rules.checks.power.power_above_board import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import (
    get_first_accelerator,
    get_protocol,
    select_every,
    select_first,
    select_load,
)


def get_max_power_mw(evidence: EvidenceFrames) -> float:
    """In mW, as the samples are."""
    accelerators = {a["uuid"]: a for node in evidence.system["nodes"] for a in node["accelerators"]}
    accelerator = accelerators[get_first_accelerator(evidence)]
    return 1e3 * highest_power_w(accelerator["name"], accelerator["max_power_w"])


@mutation(RULE)
def spikes(evidence: EvidenceFrames) -> None:
    too_much = 1.1 * get_protocol(evidence).transient_tolerance * get_max_power_mw(evidence)
    evidence.samples.loc[select_every(150, select_load(evidence)), "power_mw"] = round(too_much)


@mutation(RULE)
def averaged_readings_above_the_board(evidence: EvidenceFrames) -> None:
    too_much = 1.1 * get_protocol(evidence).board_power_tolerance * get_max_power_mw(evidence)
    evidence.samples.loc[select_every(50, select_load(evidence)), "power_avg_mw"] = round(too_much)


@mutation(RULE, "C102")
def twice_the_board(evidence: EvidenceFrames) -> None:
    mean_mw = evidence.samples.loc[select_load(evidence), "power_mw"].mean()
    factor = (
        1.2 * get_protocol(evidence).board_power_tolerance * get_max_power_mw(evidence) / mean_mw
    )
    columns = [*POWER_COLUMNS, "energy_mj"]
    evidence.samples.loc[select_first(evidence), columns] = (
        evidence.samples.loc[select_first(evidence), columns] * factor
    ).round()
