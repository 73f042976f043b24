"""Mutations that the rule `wall-clock-set` must find."""

from rules.checks.protocol.wall_clock_set import RULE
from rules.testing.case import mutation
from rules.testing.cases.protocol.node_clocks_disagree import note_clocks
from rules.testing.frames import EvidenceFrames


@mutation(RULE)
def clock_set_back(evidence: EvidenceFrames) -> None:
    note_clocks(evidence)[1]["wall_ns"] -= 3_600 * 10**9


@mutation(RULE)
def machine_slept(evidence: EvidenceFrames) -> None:
    note_clocks(evidence)[1]["wall_ns"] += 20 * 10**9
