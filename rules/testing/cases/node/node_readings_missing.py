"""Mutations that the rule `node-readings-missing` must find."""

from rules.checks.node.node_readings_missing import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.node_power import import_node_power


@mutation(RULE)
def every_tenth_reading_left_out(evidence: EvidenceFrames) -> None:
    import_node_power(evidence, range(0, 100_000, 10))


@mutation(RULE, may_report=("N103", "N106", "N112"))
def a_third_of_the_readings_left_out(evidence: EvidenceFrames) -> None:
    import_node_power(evidence, (s for s in range(100_000) if s % 12 < 4))


@mutation(RULE)
def less_stated_than_is_missing(evidence: EvidenceFrames) -> None:
    import_node_power(evidence, [5, 40])
    evidence.result["node_sampling"][0]["energy_bound_j"] = 0.0


@mutation(RULE)
def share_not_stated(evidence: EvidenceFrames) -> None:
    import_node_power(evidence, [5, 40])
    del evidence.result["node_sampling"][0]["missing_share"]
