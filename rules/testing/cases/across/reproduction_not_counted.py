"""Mutations that the rule `reproduction-not-counted` must find."""

from rules.checks.across.reproduction_not_counted import RULE
from rules.testing.case import pairing
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import use_other_boards


@pairing(RULE, other_center=True)
def original_missing(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    use_other_boards(run)
    run.result["reproduces"] = {
        "run_id": "20260101T000000Z-resnet50-train-tuned-x2-700W-000000",
        "path": "elsewhere/h200x2/20260101T000000Z-resnet50-train-tuned-x2-700W-000000",
        "manifest_sha256": "0123456789abcdef" * 4,
    }


@pairing(RULE, other_center=True, reproduces=True)
def on_the_boards_of_the_original(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    """Nothing changes: both runs state the same accelerators."""


@pairing(RULE, reproduces=True)
def by_the_submitter_of_the_original(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    use_other_boards(run)
