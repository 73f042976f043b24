"""Mutations that the rule `power-patterns-shared` must find."""

import numpy as np

from rules.checks.across.power_patterns_shared import RULE
from rules.testing.case import pairing
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import select_load


def _take(run: EvidenceFrames, other: EvidenceFrames, share: float, jitter_mw: float) -> None:
    """Give the readings of the other run's first accelerator under load to this run, scaled and
    jittered."""
    given, taken = (np.flatnonzero(select_load(evidence)) for evidence in (other, run))
    count = min(len(given), len(taken))
    values = other.samples.loc[given[:count], "power_mw"].to_numpy() * share
    run.samples.loc[taken[:count], "power_mw"] = (
        values + np.random.default_rng(1).normal(0, jitter_mw, count)
    ).round()


@pairing(RULE, both=True)
def readings_copied_and_a_little_lower(run: EvidenceFrames, other: EvidenceFrames) -> None:
    _take(run, other, 0.999, 0)


@pairing(RULE, both=True)
def readings_copied_with_jitter(run: EvidenceFrames, other: EvidenceFrames) -> None:
    _take(run, other, 1, 400)
