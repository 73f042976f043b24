"""Mutations that the rule `node-counter-contradicts-power` must find."""

from rules.checks.node.node_counter_contradicts_power import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.node_power import add_node_power, select_feed_rows


@mutation(RULE)
def counter_slowed_down(evidence: EvidenceFrames) -> None:
    add_node_power(evidence)
    table = evidence.node_samples
    assert table is not None
    rows = select_feed_rows(evidence)
    first_mj = table.loc[rows, "energy_mj"].min()
    energy_mj = table.loc[rows, "energy_mj"]
    table.loc[rows, "energy_mj"] = (first_mj + 0.95 * (energy_mj - first_mj)).round()


@mutation(RULE)
def power_lowered_with_volts_and_amperes(evidence: EvidenceFrames) -> None:
    add_node_power(evidence)
    table = evidence.node_samples
    assert table is not None
    for column in ("power_mw", "current_ma"):
        table[column] = (0.97 * table[column]).round()
