"""Mutations that the rule `ranks-unequal` must find."""

from rules.checks.protocol.ranks_unequal import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import add_twin


@mutation(RULE, "P103", may_report=("T109", "T122"))
def windows_of_one_rank_shortened(evidence: EvidenceFrames) -> None:
    rank = add_twin(evidence)
    rank_rows = evidence.batches["rank"] == rank
    length_ns = (
        evidence.batches.loc[rank_rows, "end_ns"] - evidence.batches.loc[rank_rows, "start_ns"]
    )
    evidence.batches.loc[rank_rows, "end_ns"] -= length_ns // 16


@mutation(RULE, "P109")
def far_fewer_items_on_one_rank(evidence: EvidenceFrames) -> None:
    rank = add_twin(evidence)
    evidence.batches.loc[evidence.batches["rank"] == rank, "items"] //= 4


@mutation(RULE, "P109", "P103", "T122")
def far_fewer_batches_on_one_rank(evidence: EvidenceFrames) -> None:
    rank = add_twin(evidence)
    batches = evidence.batches
    removed = (batches["rank"] == rank) & (batches["batch"] > batches["batch"].max() // 3)
    batches.loc[batches["rank"] == rank, "items"] //= 2
    evidence.batches = batches[~removed].reset_index(drop=True)
