"""The batches contradict the settings of the run

## What it does
Checks that in every epoch exactly the declared ranks have batches, that each rank has
`batches_per_epoch` of them, numbered from 0, and that each batch has the items of `batch_size`
samples. An image is one item, and a sequence has as many items as tokens. With a target, a batch is
one item: a whole training. For serving a batch is one request, and its items are the output tokens
that `requests` declares. Where lengths are uniform, P116 and P117 check them.

## Why it is bad
The items determine the throughput. Batches that are larger than declared, duplicated or assigned to
a rank that does not exist count work that was not done.

## What to do
Submit batches.csv.gz and settings as the recorder wrote them, or run again.

## Source
Protocol, sections "epochs, discarded" and "what counts".
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.table import BATCHES, format_rows
from rules.finding import Severity, Violation, format_count
from rules.rule import BundleRule

RULE = BundleRule(__name__, "P109", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    batches = bundle.batches
    batch_ranks = batches.ints("rank")
    declared_ranks = {rank.rank for rank in bundle.ranks}
    undeclared = ~np.isin(batch_ranks, list(declared_ranks))
    if undeclared.any():
        yield Violation(
            BATCHES,
            format_rows(batches, undeclared),
            f"{format_count(undeclared.sum(), 'batch')} of undeclared ranks",
            f"ranks {sorted(declared_ranks)}",
        )
    yield from _check_counts(bundle, declared_ranks)
    # T108 reports an unknown size. Without it, the items of a sample are not known.
    if bundle.size is None:
        return
    items = bundle.size.count_items(bundle.batch_size)
    origin = f"settings.batch_size x {bundle.size.items_per_sample}"
    if bundle.target:
        origin = "a whole training"
    if bundle.request_set is not None:
        if bundle.request_set.uniform:
            return
        items, origin = bundle.request_set.output_tokens, "settings.requests.output_tokens"
    differs = batches.ints("items") != items
    if differs.any():
        yield Violation(
            BATCHES,
            format_rows(batches, differs),
            f"{format_count(differs.sum(), 'batch')} of another size",
            f"{items} items: {origin}",
        )


def _check_counts(bundle: Bundle, declared_ranks: set[int]) -> Iterator[Violation]:
    """Epochs in which a rank does not have the declared number of batches, numbered from 0."""
    batch, no_rows = bundle.batches.ints("batch"), np.empty(0, dtype=np.int64)
    count = bundle.settings.batches_per_epoch
    # A bundle may declare more batches than memory could hold numbers for.
    numbers = np.arange(min(count, len(batch)))
    # P101 compares the epochs themselves with the protocol.
    for epoch in dict.fromkeys(epoch for epoch, _ in bundle.batches_of):
        differing = []
        for rank in sorted(declared_ranks):
            recorded = batch[bundle.batches_of.get((epoch, rank), no_rows)]
            # Equal lengths come first: NumPy cannot compare arrays of different lengths.
            if len(recorded) != count or (recorded != numbers).any():
                differing.append(
                    f"rank {rank} has {len(recorded)} batches ({len(np.unique(recorded))} numbers)"
                )
        if differing:
            yield Violation(
                BATCHES,
                "",
                f"epoch {epoch}: {', '.join(differing[:4])}",
                f"{format_count(count, 'batch')} of each rank, numbered from 0",
            )
