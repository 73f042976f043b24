"""Mutations that the rule `node-readings-sparse` must find."""

from rules.checks.node.node_readings_sparse import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.node_power import add_node_power


@mutation(RULE)
def ten_seconds_of_an_epoch_unread(evidence: EvidenceFrames) -> None:
    add_node_power(evidence)
    table = evidence.node_samples
    assert table is not None
    start_ns = int(evidence.batches[evidence.batches["epoch"] == 3]["start_ns"].min())
    delay_ns = table["scheduled_ns"] - start_ns
    unread = (delay_ns > 5_000_000_000) & (delay_ns < 15_000_000_000)
    evidence.node_samples = table[~unread].reset_index(drop=True)


@mutation(RULE, may_report=("N114",))
def read_every_six_seconds(evidence: EvidenceFrames) -> None:
    add_node_power(evidence)
    table = evidence.node_samples
    assert table is not None
    slot = (table["scheduled_ns"] - table["scheduled_ns"].min()) // 1_000_000_000
    evidence.node_samples = table[slot % 6 == 0].reset_index(drop=True)
