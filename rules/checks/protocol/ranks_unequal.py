"""The throughput of the ranks differs

## What it does
Compares, for training, the throughput of the ranks in every scored epoch: items of a rank per
active second and accelerator. The slowest rank must reach 95 % of the fastest. P109 reports ranks
with different numbers of batches.

On four H200 that train together the ranks differed by less than 0.01 %, because each step waits for
all of them.

## Why it is bad
Ranks that train one model together end every step together. A faster rank did not do the same work,
or its windows omit a part of the step, and the throughput of the run is overstated. It is a
warning, because the ranks of an implementation of the submitter may run side by side without
waiting for each other.

## What to do
Examine the batch windows of all ranks, and the clocks and temperatures of the boards of the slowest
one. Run again.

## Source
Protocol, section "what counts": a batch ends when the device has finished it.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import BATCHES
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "P120", Severity.WARNING, standings=("closed", "open"), added="1.3.0")

LEAST_SHARE = 0.95
"""Lowest throughput of a rank, as a share of the fastest; ranks that waited for each other had more
than 0.9999."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    # The ranks of a server answer different requests and do not wait for each other. Those of
    # trainings to a target train models of their own.
    if not bundle.is_training or bundle.target:
        return
    accelerators = {rank.rank: len(rank.accelerators) for rank in bundle.ranks}
    rates_by_epoch: dict[int, dict[int, float]] = {}
    for part in bundle.scored_parts:
        # Per accelerator, because a rank may compute on more than one.
        items_per_s = part.items / part.active_s / accelerators[part.rank]
        rates_by_epoch.setdefault(part.epoch, {})[part.rank] = items_per_s
    slow_epochs: dict[int, list[tuple[float, int]]] = {}
    for epoch, rates in rates_by_epoch.items():
        slowest, fastest = min(rates, key=rates.__getitem__), max(rates.values())
        if rates[slowest] < LEAST_SHARE * fastest:
            slow_epochs.setdefault(slowest, []).append((rates[slowest] / fastest, epoch))
    for rank, shares in slow_epochs.items():
        epochs = ", ".join(str(epoch) for _, epoch in shares)
        yield Violation(
            BATCHES,
            "",
            f"rank {rank} at {100 * min(shares)[0]:.1f} % of the fastest, in "
            f"epoch{'s' * (len(shares) > 1)} {epochs}",
            f"at least {100 * LEAST_SHARE:g} %",
        )
