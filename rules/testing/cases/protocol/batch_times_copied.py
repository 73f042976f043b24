"""Mutations that the rule `batch-times-copied` must find."""

from rules.checks.protocol.batch_times_copied import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import get_last_epoch


def _copy_shortest(evidence: EvidenceFrames, *targets: int) -> None:
    batches = evidence.batches
    of_epoch = batches.groupby("epoch")
    lengths_ns = (of_epoch["end_ns"].max() - of_epoch["start_ns"].min()).to_dict()
    source = min(lengths_ns, key=lambda epoch: lengths_ns[epoch])
    times = ["start_ns", "end_ns"]
    for rank in batches["rank"].unique():
        own = batches["rank"] == rank
        take = batches.loc[own & (batches["epoch"] == source), times].to_numpy()
        for target in set(targets) - {source}:
            put = own & (batches["epoch"] == target)
            batches.loc[put, times] = take - take.min() + batches.loc[put, "start_ns"].min()


@mutation(RULE)
def fast_epoch_for_two_slow_ones(evidence: EvidenceFrames) -> None:
    _copy_shortest(evidence, 4, 7)


@mutation(RULE)
def fast_epoch_for_all(evidence: EvidenceFrames) -> None:
    _copy_shortest(evidence, *range(get_last_epoch(evidence) + 1))
