"""Batch times of one epoch that are those of another

## What it does
Compares the durations of all batches, to the nanosecond, between epochs and ranks.

## Why it is bad
No two epochs take the same time in every batch. Equal ones were copied, so the run is shorter than
it says.

## What to do
Run all epochs and hand in what was recorded.

## Source
Protocol, section "epochs, discarded". Device events resolve about one microsecond, and steps vary
by far more.
"""

from collections.abc import Iterator

from rules.bundle_format.records import Evidence
from rules.bundle_format.table import BATCHES
from rules.rule import Bundle, Found, Rule, Severity
from rules.testing.mutations import last_epoch

RULE = Rule("P114", Severity.ERROR, waivable=False)

ENOUGH_BATCHES = 8  # fewer may agree by chance


@RULE.check
def check(bundle: Bundle) -> Iterator[Found]:
    durations_ns = bundle.batches.ints("end_ns") - bundle.batches.ints("start_ns")
    seen: dict[bytes, str] = {}
    for (epoch, rank), at in bundle.batches_of.items():
        if len(at) < ENOUGH_BATCHES:
            continue
        name = f"epoch {epoch} of rank {rank}"
        before = seen.setdefault(durations_ns[at].tobytes(), name)
        if before != name:
            yield Found(
                BATCHES,
                "",
                f"{name}: {len(at)} batches with exactly the durations of {before}",
                "durations that differ between epochs and ranks",
                "Times were copied. Hand in what was recorded.",
            )


def _copy_shortest(evidence: Evidence, *targets: int) -> None:
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


@RULE.mutation()
def fast_epoch_for_two_slow_ones(evidence: Evidence) -> None:
    _copy_shortest(evidence, 4, 7)


@RULE.mutation()
def fast_epoch_for_all(evidence: Evidence) -> None:
    _copy_shortest(evidence, *range(last_epoch(evidence) + 1))
