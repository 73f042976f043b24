"""Mutations that the rule `power-patterns-shared` must find."""

import numpy as np

from rules.checks.across.power_patterns_shared import RULE
from rules.testing.case import pairing
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import move_after, select_load


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


@pairing(RULE)
def readings_copied_and_a_little_lower(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    move_after(run, other_run)
    copy_power(run, other_run, 0.999, 0)


@pairing(RULE)
def readings_copied_with_jitter(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    move_after(run, other_run)
    copy_power(run, other_run, 1, 400)


@pairing(RULE, both_at_fault=True, other_center=True)
def durations_of_batches_copied_with_jitter(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    run.batches = other_run.batches.copy()
    lengths_ns = run.batches["end_ns"] - run.batches["start_ns"]
    shorter = np.random.default_rng(1).uniform(0.001, 0.0012, len(lengths_ns))
    run.batches["end_ns"] -= (lengths_ns * shorter).astype("int64")
