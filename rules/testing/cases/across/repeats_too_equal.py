"""Mutations that the rule `repeats-too-equal` must find."""

import numpy as np

from rules.checks.across.repeats_too_equal import RULE
from rules.testing.case import pairing
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import swap_neighbours


def follow_epochs(run: EvidenceFrames, other_run: EvidenceFrames, jitter: float) -> None:
    """Let the batches take as long as those of the other run, but for a jitter; no row of readings
    is there twice."""
    random = np.random.default_rng(5)
    run.samples = other_run.samples.copy()
    swap_neighbours(run.samples, 3)
    run.samples["power_mw"] += random.integers(-20, 21, len(run.samples))
    start_ns = other_run.batches["start_ns"].to_numpy()
    length_ns = (other_run.batches["end_ns"].to_numpy() - start_ns) * (
        1 - jitter * random.random(len(start_ns))
    )
    run.batches = other_run.batches.copy()
    run.batches["end_ns"] = start_ns + length_ns.astype(np.int64)


@pairing(RULE, both_at_fault=True)
def epochs_copied_with_jitter(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    follow_epochs(run, other_run, 1e-4)


@pairing(RULE, both_at_fault=True)
def epochs_copied_almost(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    follow_epochs(run, other_run, 1e-6)
