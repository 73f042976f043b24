"""Mutations that the rule `losses-contradict-seed` must find."""

from rules.checks.across.losses_contradict_seed import RULE
from rules.testing.case import pairing
from rules.testing.cases.across.seed_reused import share_input
from rules.testing.frames import EvidenceFrames

LOSSES = [6.70, 6.68, 6.69, 6.66, 6.67, 6.63, 6.65, 6.61]


def list_first_losses(evidence: EvidenceFrames, losses: list[float]) -> None:
    """Give the first epoch these losses of steps."""
    evidence.result["epochs"][0].update(losses=losses, loss=losses[-1])


@pairing(RULE, both_at_fault=True, other_center=True)
def losses_three_percent_higher_at_the_same_seed(
    run: EvidenceFrames, other_run: EvidenceFrames
) -> None:
    other_run.result["settings"]["seed"] = run.result["settings"]["seed"]
    share_input(other_run, run)
    list_first_losses(run, [1.03 * loss for loss in LOSSES])
    list_first_losses(other_run, LOSSES)


@pairing(RULE, both_at_fault=True, other_center=True)
def losses_in_another_order_at_the_same_seed(
    run: EvidenceFrames, other_run: EvidenceFrames
) -> None:
    other_run.result["settings"]["seed"] = run.result["settings"]["seed"]
    share_input(other_run, run)
    list_first_losses(run, LOSSES[::-1])
    list_first_losses(other_run, LOSSES)
