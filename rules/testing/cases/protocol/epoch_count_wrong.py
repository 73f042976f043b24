"""Mutations that the rule `epoch-count-wrong` must find."""

from rules.checks.protocol.epoch_count_wrong import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import get_last_epoch


@mutation(RULE)
def last_epoch_left_out(evidence: EvidenceFrames) -> None:
    evidence.batches = evidence.batches[
        evidence.batches["epoch"] < get_last_epoch(evidence)
    ].reset_index(drop=True)


@mutation(RULE, "T122")
def slow_epoch_left_out(evidence: EvidenceFrames) -> None:
    evidence.batches = evidence.batches[evidence.batches["epoch"] != 4].reset_index(drop=True)


@mutation(RULE, rederive=False)
def epoch_left_out_of_the_result_only(evidence: EvidenceFrames) -> None:
    del evidence.result["epochs"][7]


@mutation(RULE, "P103", "P109", may_report=("P108",))
def last_epoch_cut_in_two(evidence: EvidenceFrames) -> None:
    batches = evidence.batches
    last_epoch = get_last_epoch(evidence)
    batches.loc[
        (batches["epoch"] == last_epoch) & (batches["batch"] > batches["batch"].max() // 2), "epoch"
    ] = last_epoch + 1
