"""Mutations that the rule `rank-silent` must find."""

from rules.checks.protocol.rank_silent import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import add_twin, get_last_epoch


@mutation(RULE, "P109")
def one_rank_silent(evidence: EvidenceFrames) -> None:
    silent = add_twin(evidence)
    evidence.batches = evidence.batches[evidence.batches["rank"] != silent].reset_index(drop=True)


@mutation(RULE, "P109")
def one_rank_silent_in_the_last_epoch(evidence: EvidenceFrames) -> None:
    silent = add_twin(evidence)
    removed = (evidence.batches["epoch"] == get_last_epoch(evidence)) & (
        evidence.batches["rank"] == silent
    )
    evidence.batches = evidence.batches[~removed].reset_index(drop=True)
