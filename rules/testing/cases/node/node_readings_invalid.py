"""Mutations that the rule `node-readings-invalid` must find."""

import numpy as np

from rules.checks.node.node_readings_invalid import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.node_power import add_node_power, select_feed_rows


@mutation(RULE, may_report=("N101", "N102", "N106", "N107", "N108"))
def failed_reads_as_65535_watts(evidence: EvidenceFrames) -> None:
    add_node_power(evidence)
    assert evidence.node_samples is not None
    rows = np.flatnonzero(select_feed_rows(evidence))[20:23]
    evidence.node_samples.loc[rows, "power_mw"] = 65_535_000.0


@mutation(RULE)
def range_far_above_the_load(evidence: EvidenceFrames) -> None:
    add_node_power(evidence)
    evidence.system["meters"][0]["range_w"] = 400_000.0


@mutation(RULE)
def range_below_the_load(evidence: EvidenceFrames) -> None:
    add_node_power(evidence)
    evidence.system["meters"][0]["range_w"] = 500.0
