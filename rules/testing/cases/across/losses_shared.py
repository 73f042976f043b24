"""Mutations that the rule `losses-shared` must find."""

from rules.checks.across.losses_shared import RULE
from rules.testing.case import pairing
from rules.testing.frames import EvidenceFrames


def copy_losses(target: EvidenceFrames, source: EvidenceFrames, epochs: int) -> None:
    """Give the losses of the last epochs of one run to the other."""
    pairs = zip(target.result["epochs"], source.result["epochs"], strict=True)
    for target_epoch, source_epoch in list(pairs)[-epochs:]:
        for name in ("loss", "losses"):
            if name in source_epoch:
                target_epoch[name] = source_epoch[name]


@pairing(RULE, both_at_fault=True)
def losses_of_another_seed(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    copy_losses(run, other_run, 10)


@pairing(RULE, both_at_fault=True, other_center=True)
def losses_of_half_the_epochs_of_another_center(
    run: EvidenceFrames, other_run: EvidenceFrames
) -> None:
    copy_losses(run, other_run, 5)
