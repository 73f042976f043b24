"""Performance or batch size above the usual range

## What it does
Reports closed bundles in which a scored epoch reaches more than 75 % of the dense peak (MFU; T104
reports more than 100 %), or in which the batch is larger than the largest that the search for the
highest stable batch tries (`max_batch_size` of the workload; for a server, times its accelerators).

## Why it is bad
Neither is an offence. But the best measured run, LLaMA 3 8B pre-training on an H200, reaches 65 %.
Items that are counted too high and batch sizes that are overstated are visible here long before
T104 calls them impossible.

## What to do
Nothing, if the figures are correct: tell the reviewer how they were reached.

## Source
Protocol, section "bounds"; `rules/workloads/`, `rules/boards.py`.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import BATCHES, RESULT
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "T114", Severity.NOTE, standings=("closed",), added="1.3.0")

USUAL_MFU = 0.75
"""Highest usual share of the dense peak; the best measured run reaches 0.65."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    workload = bundle.workload
    # The usual ranges were measured with the full size only.
    if workload is None or bundle.declaration.size != "full":
        return
    epochs = () if bundle.figures is None else bundle.figures.scored_epochs
    mfu = max((epoch.mfu or 0 for epoch in epochs), default=0)
    # Above the peak, T104 reports an error. A note beside it would add nothing.
    if USUAL_MFU < mfu <= bundle.protocol.max_peak_share:
        yield Violation(BATCHES, "", f"{mfu:.0%} of the dense peak", f"at most {USUAL_MFU:.0%}")
    max_batch_size = workload.full.max_batch_size
    if workload.mode == "inference":
        # The batch size of a server is its concurrency, which all its accelerators share.
        max_batch_size *= max((len(rank.accelerators) for rank in bundle.ranks), default=1)
    if bundle.batch_size > max_batch_size:
        yield Violation(
            RESULT,
            "/settings/batch_size",
            str(bundle.batch_size),
            f"at most {max_batch_size}, the largest batch that a search tries",
        )
