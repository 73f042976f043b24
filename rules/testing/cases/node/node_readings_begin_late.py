"""Mutations that the rule `node-readings-begin-late` must find."""

from rules.checks.node.node_readings_begin_late import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.node_power import add_node_power


@mutation(RULE, "N119", may_report=("N112",))
def meter_read_from_the_second_scored_epoch(evidence: EvidenceFrames) -> None:
    add_node_power(evidence)
    table = evidence.node_samples
    assert table is not None
    start_ns = int(evidence.batches[evidence.batches["epoch"] == 2]["start_ns"].min())
    evidence.node_samples = table[table["scheduled_ns"] > start_ns].reset_index(drop=True)


@mutation(RULE)
def meter_read_to_the_last_batch(evidence: EvidenceFrames) -> None:
    add_node_power(evidence)
    table = evidence.node_samples
    assert table is not None
    end_ns = int(evidence.batches["end_ns"].max()) + 1_100_000_000
    evidence.node_samples = table[table["scheduled_ns"] < end_ns].reset_index(drop=True)
