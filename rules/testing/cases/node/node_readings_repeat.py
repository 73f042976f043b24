"""Mutations that the rule `node-readings-repeat` must find."""

import numpy as np

from rules.checks.node.node_readings_repeat import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.node_power import add_node_power


@mutation(RULE)
def meter_that_measures_every_two_seconds(evidence: EvidenceFrames) -> None:
    add_node_power(evidence)
    _hold(evidence, 2)


@mutation(RULE, may_report=("N103",))
def meter_that_measures_every_four_seconds(evidence: EvidenceFrames) -> None:
    add_node_power(evidence)
    _hold(evidence, 4)


def _hold(evidence: EvidenceFrames, readings: int) -> None:
    """Let the meter give each measurement for so many readings of each feed."""
    table = evidence.node_samples
    assert table is not None
    for feed in table["feed"].unique():
        rows = np.flatnonzero(table["feed"] == feed)
        held = rows[np.arange(len(rows)) // readings * readings]
        for column in ("power_mw", "current_ma", "voltage_mv", "energy_mj", "fresh", "meter_ns"):
            table.loc[rows, column] = table[column].to_numpy()[held]
