"""Mutations that the rule `clock-contradicts-power` must find."""

from rules.checks.node.clock_contradicts_power import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.node_power import add_node_power


@mutation(RULE)
def clock_seven_seconds_ahead(evidence: EvidenceFrames) -> None:
    """Stamps of a clock that runs 7 s ahead, placed as if it were right."""
    add_node_power(evidence)
    _delay(evidence, 7.0)


@mutation(RULE)
def clock_two_seconds_behind(evidence: EvidenceFrames) -> None:
    add_node_power(evidence)
    _delay(evidence, -2.0)


@mutation(RULE)
def answers_with_readings_four_seconds_old(evidence: EvidenceFrames) -> None:
    """A meter without stamps whose answers are old."""
    add_node_power(evidence)
    table = evidence.node_samples
    assert table is not None
    for column in ("scheduled_ns", "sent_ns", "read_ns"):
        table[column] += 4_000_000_000
    evidence.system["meters"][0].update(clock="node", stamp_resolution_ms=None)
    evidence.result["node_clocks"] = []


def _delay(evidence: EvidenceFrames, seconds: float) -> None:
    table = evidence.node_samples
    assert table is not None
    table["meter_ns"] += round(seconds * 1e9)
