"""Mutations that the rule `batch-times-copied` must find."""

from rules.checks.protocol.batch_times_copied import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import get_last_epoch


def copy_shortest_epoch(evidence: EvidenceFrames, *targets: int) -> None:
    batches = evidence.batches
    epochs = batches.groupby("epoch")
    lengths_ns = (epochs["end_ns"].max() - epochs["start_ns"].min()).to_dict()
    source = min(lengths_ns, key=lambda epoch: lengths_ns[epoch])
    times = ["start_ns", "end_ns"]
    for rank in batches["rank"].unique():
        rank_rows = batches["rank"] == rank
        source_times = batches.loc[rank_rows & (batches["epoch"] == source), times].to_numpy()
        for target in set(targets) - {source}:
            target_rows = rank_rows & (batches["epoch"] == target)
            batches.loc[target_rows, times] = (
                source_times - source_times.min() + batches.loc[target_rows, "start_ns"].min()
            )


@mutation(RULE)
def fast_epoch_for_two_slow_ones(evidence: EvidenceFrames) -> None:
    copy_shortest_epoch(evidence, 4, 7)


@mutation(RULE)
def fast_epoch_for_all(evidence: EvidenceFrames) -> None:
    copy_shortest_epoch(evidence, *range(get_last_epoch(evidence) + 1))
