"""Mutations that the rule `feed-without-readings` must find."""

from rules.checks.node.feed_without_readings import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.node_power import add_node_power, select_feed_rows


@mutation(RULE, "N119")
def feed_unread(evidence: EvidenceFrames) -> None:
    add_node_power(evidence)
    assert evidence.node_samples is not None
    evidence.node_samples = evidence.node_samples[~select_feed_rows(evidence)].reset_index(
        drop=True
    )


@mutation(RULE, may_report=("N101",))
def feed_undeclared(evidence: EvidenceFrames) -> None:
    add_node_power(evidence)
    evidence.system["meters"][0]["feeds"].pop()
