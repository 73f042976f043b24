"""Ranks that do unequal work

## What it does
Compares, in training, the throughput of the ranks in every scored epoch: items of a rank over its
active seconds and accelerators. The slowest must reach 95 % of the fastest. Ranks that differ in
the number of their batches are P109's.

On four H200 that train together the ranks differed by less than 0.01 %, because each step waits for
all of them.

## Why it is bad
Ranks that train one model together end every step together. Where one is faster, it did not do the
same work, or its windows leave a part of the step out, and the throughput of the run is overstated.
It is a warning, because ranks of an implementation of one's own may run side by side without
waiting for each other.

## What to do
Look at the windows of the rank that differs, and at the clocks and temperatures of its boards.

## Source
Protocol, section "what counts": a batch ends when the device has finished it.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import BATCHES
from rules.finding import Severity, Violation
from rules.rule import BundleRule
from rules.workloads import workloads

RULE = BundleRule(__name__, "P120", Severity.WARNING, standings=("closed", "open"), added="1.3.0")

LEAST_SHARE = 0.95


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    workload = workloads().get(bundle.result["workload"])
    if workload is None or workload.mode != "training":
        return
    rates: dict[int, dict[int, float]] = {}
    boards = {r["rank"]: len(r["accelerators"]) for r in bundle.result["ranks"]}
    for part in bundle.scored_parts:
        rates.setdefault(part.epoch, {})[part.rank] = part.items / part.active_s / boards[part.rank]
    unequal: dict[int, list[tuple[float, int]]] = {}
    for epoch, of_rank in rates.items():
        slowest, fastest = min(of_rank, key=of_rank.__getitem__), max(of_rank.values())
        if of_rank[slowest] < LEAST_SHARE * fastest:
            unequal.setdefault(slowest, []).append((of_rank[slowest] / fastest, epoch))
    for rank, epochs in unequal.items():
        yield Violation(
            BATCHES,
            "",
            f"rank {rank} at {100 * min(epochs)[0]:.1f} % of the fastest, in "
            f"epoch{'s' * (len(epochs) > 1)} "
            f"{', '.join(str(epoch) for _, epoch in epochs)}",
            f"at least {100 * LEAST_SHARE:g} %",
            "Ranks that train together are equally fast. Look at the windows of all of "
            "them, and run again.",
        )
