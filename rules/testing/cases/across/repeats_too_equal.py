"""Mutations that the rule `repeats-too-equal` must find."""

import numpy as np

from rules.checks.across.repeats_too_equal import RULE
from rules.testing.case import pairing
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import POWER, renew_noise


def follow_epochs(run: EvidenceFrames, other_run: EvidenceFrames, jitter: float) -> None:
    """Give the epochs the durations of the other run's, but for a jitter. Neither readings nor
    batches follow each other as there."""
    random = np.random.default_rng(5)
    run.samples, run.batches = other_run.samples.copy(), other_run.batches.copy()
    renew_noise(run, 3, (*POWER, "sm_mhz", "mem_power_mw"))
    run.samples["power_mw"] += random.integers(-20, 21, len(run.samples))
    lengths_ns = run.batches["end_ns"] - run.batches["start_ns"]
    run.batches["end_ns"] -= (lengths_ns * jitter * random.random(len(lengths_ns))).astype("int64")


@pairing(RULE, both_at_fault=True)
def epochs_copied_with_jitter(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    follow_epochs(run, other_run, 1e-4)


@pairing(RULE, both_at_fault=True)
def epochs_copied_almost(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    follow_epochs(run, other_run, 1e-6)
