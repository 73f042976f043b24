"""Mutations that the rule `cap-without-known-result` must find."""

from rules.checks.across.cap_without_known_result import RULE
from rules.testing.case import pairing
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import declare_cap, scale_readings


@pairing(RULE, other_center=True)
def run_at_another_cap_as_one_at_400_w(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    scale_readings(run, 0.57)
    declare_cap(run, 400.0)


@pairing(RULE, "T123")
def saving_that_no_published_run_has(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    scale_readings(run, 0.57)
    declare_cap(run, 400.0)
