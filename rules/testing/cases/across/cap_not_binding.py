"""Mutations that the rule `cap-not-binding` must find."""

import numpy as np

from rules.checks.across.cap_not_binding import RULE
from rules.testing.case import pairing
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import declare_cap, scale_readings


def clear_cap_reason(evidence: EvidenceFrames, share: float) -> None:
    scale_readings(evidence, share)
    slowdown_bits = (
        np.nan_to_num(evidence.samples["slowdown"].to_numpy(np.float64)).astype(np.int64) & ~0x4
    )
    evidence.samples["slowdown"] = slowdown_bits.astype(np.float64)


@pairing(RULE, "C112")
def half_the_power_and_nothing_held_it(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    declare_cap(run, other_run.result["power"]["cap_w"] * 0.8)
    clear_cap_reason(run, 0.5)


@pairing(RULE, "C112")
def somewhat_below_a_cap_that_did_not_hold(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    declare_cap(run, other_run.result["power"]["cap_w"] * 0.9)
    clear_cap_reason(run, 0.75)
