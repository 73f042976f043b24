"""Pairings that the rule `node-series-shared` must find."""

from rules.checks.node.node_series_shared import RULE
from rules.testing.case import pairing
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import move_after
from rules.testing.node_power import add_node_power


@pairing(RULE)
def node_readings_of_another_run(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    move_after(run, other_run)
    add_node_power(run)
    add_node_power(other_run, seed=4)
    _copy_readings(run, other_run, 0)


@pairing(RULE)
def half_of_the_node_readings_shifted(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    move_after(run, other_run)
    add_node_power(run)
    add_node_power(other_run, seed=4)
    _copy_readings(run, other_run, 100)


def _copy_readings(target: EvidenceFrames, source: EvidenceFrames, shift: int) -> None:
    """Give the readings from row `shift` on to the other run, from its first scored epoch on."""
    assert target.node_samples is not None and source.node_samples is not None
    count = min(len(target.node_samples), len(source.node_samples)) - 2 * shift
    for column in ("power_mw", "current_ma", "voltage_mv"):
        values = source.node_samples[column].to_numpy()[shift : shift + count]
        target.node_samples.loc[2 * shift : 2 * shift + count - 1, column] = values
