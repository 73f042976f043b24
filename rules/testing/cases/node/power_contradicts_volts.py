"""Mutations that the rule `power-contradicts-volts` must find."""

from rules.checks.node.power_contradicts_volts import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.node_power import add_node_power, select_feed_rows


@mutation(RULE, may_report=("N108",))
def power_lowered_and_nothing_else(evidence: EvidenceFrames) -> None:
    add_node_power(evidence)
    assert evidence.node_samples is not None
    rows = select_feed_rows(evidence)
    evidence.node_samples.loc[rows, "power_mw"] *= 0.985
    evidence.node_samples["power_mw"] = evidence.node_samples["power_mw"].round()


@mutation(RULE)
def current_of_another_scale(evidence: EvidenceFrames) -> None:
    add_node_power(evidence)
    assert evidence.node_samples is not None
    evidence.node_samples["current_ma"] *= 2
