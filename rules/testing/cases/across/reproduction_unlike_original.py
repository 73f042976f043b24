"""Mutations that the rule `reproduction-unlike-original` must find."""

from rules.checks.across.reproduction_unlike_original import RULE
from rules.testing.case import pairing
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import use_other_boards


@pairing(RULE, other_center=True, reproduces=True)
def with_other_options(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    use_other_boards(run)
    run.result["settings"]["options"] = {"checkpointing": "block"}


@pairing(RULE, other_center=True, reproduces=True)
def with_loaded_weights(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    use_other_boards(run)
    run.result["settings"]["weights"] = f"sha256:{'0123456789abcdef' * 4}"
