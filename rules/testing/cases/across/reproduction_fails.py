"""Mutations that the rule `reproduction-fails` must find."""

from rules.checks.across.reproduction_fails import RULE
from rules.testing.case import pairing
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import scale_readings, slow_down, use_other_boards


@pairing(RULE, both_at_fault=True, other_center=True, reproduces=True)
def slower_than_the_original(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    use_other_boards(run)
    slow_down(run, 0.95)
    # At a lower clock, so that the work per clock cycle is that of the original.
    run.samples["sm_mhz"] = (0.95 * run.samples["sm_mhz"]).round()


@pairing(RULE, both_at_fault=True, other_center=True, reproduces=True)
def more_energy_than_the_original(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    use_other_boards(run)
    scale_readings(run, 1.02)
    scale_readings(other_run, 0.972)
