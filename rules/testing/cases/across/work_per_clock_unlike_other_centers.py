"""Mutations that the rule `work-per-clock-unlike-other-centers` must find."""

from rules.checks.across.work_per_clock_unlike_other_centers import RULE
from rules.testing.case import pairing
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import slow_down


@pairing(RULE, both_at_fault=True, other_center=True)
def faster_than_elsewhere_at_the_same_clock(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    slow_down(other_run, 0.92)


@pairing(RULE, both_at_fault=True, other_center=True)
def clock_lower_than_elsewhere_at_the_same_throughput(
    run: EvidenceFrames, other_run: EvidenceFrames
) -> None:
    run.samples["sm_mhz"] = (run.samples["sm_mhz"] * 0.94).round()
