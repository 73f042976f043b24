"""Mutations that the rule `node-level-overstated` must find."""

import numpy as np

from rules.checks.node.node_level_overstated import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.node_power import add_node_power, state_node_figures


@mutation(RULE, rederive=False)
def level_three_without_a_counter(evidence: EvidenceFrames) -> None:
    add_node_power(evidence)
    assert evidence.node_samples is not None
    evidence.node_samples["energy_mj"] = np.nan
    state_node_figures(evidence)
    evidence.result["node"]["level"] = 3


@mutation(RULE, rederive=False)
def level_two_with_an_accuracy_of_four_percent(evidence: EvidenceFrames) -> None:
    add_node_power(evidence)
    evidence.system["meters"][0]["accuracy_percent"] = 4.0
    state_node_figures(evidence)
    evidence.result["node"]["level"] = 2
