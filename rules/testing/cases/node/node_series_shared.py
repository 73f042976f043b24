"""Pairings that the rule `node-series-shared` must find."""

import numpy as np

from rules.checks.node.node_series_shared import RULE
from rules.testing.case import pairing
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import move_after
from rules.testing.node_power import FEEDS, add_node_power, select_feed_rows


@pairing(RULE)
def node_readings_of_another_run(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    move_after(run, other_run)
    add_node_power(run)
    add_node_power(other_run, seed=4)
    _copy_readings(run, other_run, *FEEDS)


@pairing(RULE)
def readings_of_one_feed_of_another_run(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    move_after(run, other_run)
    add_node_power(run)
    add_node_power(other_run, seed=4)
    _copy_readings(run, other_run, FEEDS[1])


def _copy_readings(target: EvidenceFrames, source: EvidenceFrames, *feeds: str) -> None:
    """Give the readings of some feeds to the other run."""
    assert target.node_samples is not None and source.node_samples is not None
    for feed in feeds:
        target_rows, source_rows = (
            np.flatnonzero(select_feed_rows(evidence, feed)) for evidence in (target, source)
        )
        count = min(len(target_rows), len(source_rows))
        for column in ("power_mw", "current_ma", "voltage_mv"):
            values = source.node_samples[column].to_numpy()[source_rows[:count]]
            target.node_samples.loc[target_rows[:count], column] = values
