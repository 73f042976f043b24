"""Mutations that the rule `power-patterns-shared` must find."""

import numpy as np

from rules.checks.across.power_patterns_shared import RULE
from rules.testing.case import pairing
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import select_load


def copy_power(
    run: EvidenceFrames, other_run: EvidenceFrames, share: float, jitter_mw: float
) -> None:
    """Give the readings of the other run's first accelerator under load to this run, scaled and
    jittered."""
    source_rows, target_rows = (
        np.flatnonzero(select_load(evidence)) for evidence in (other_run, run)
    )
    count = min(len(source_rows), len(target_rows))
    values = other_run.samples.loc[source_rows[:count], "power_mw"].to_numpy() * share
    run.samples.loc[target_rows[:count], "power_mw"] = (
        values + np.random.default_rng(1).normal(0, jitter_mw, count)
    ).round()


@pairing(RULE, both_at_fault=True)
def readings_copied_and_a_little_lower(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    copy_power(run, other_run, 0.999, 0)


@pairing(RULE, both_at_fault=True)
def readings_copied_with_jitter(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    copy_power(run, other_run, 1, 400)
