"""Possible, but beyond what is usual

## What it does
Speaks of closed bundles where a scored epoch reaches more than 75 % of the dense peak (MFU; above
100 % T104 speaks), or where the batch is larger than the largest that the search for the highest
stable batch would try (`max_batch_size` of the workload; for a server, times its accelerators).

## Why it is bad
Neither is an offence. But the best of the measured runs, LLaMA 3 8B pre-training on an H200,
reaches 65 %, and items that are counted too high or batches that are stated too large show here
first, well before T104 calls them impossible.

## What to do
Nothing, if it is so: tell the reviewer how it was reached.

## Source
Protocol, section "bounds"; `rules/workloads/`, `rules/boards.py`.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import BATCHES, RESULT
from rules.finding import Severity, Violation
from rules.rule import BundleRule
from rules.workloads import workloads

RULE = BundleRule(__name__, "T114", Severity.NOTE, standings=("closed",), added="1.3.0")

USUAL_MFU = 0.75


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    workload = workloads().get(bundle.result["workload"])
    if workload is None or bundle.result["size"] != "full":
        return
    epochs = () if bundle.figures is None else bundle.figures.scored_epochs
    mfu = max((epoch.mfu or 0 for epoch in epochs), default=0)
    if USUAL_MFU < mfu <= bundle.protocol.max_peak_share:
        yield _found(BATCHES, "", f"{mfu:.0%} of the dense peak", f"up to {USUAL_MFU:.0%}")
    each = (
        max((len(r["accelerators"]) for r in bundle.result["ranks"]), default=1)
        if workload.mode == "inference"
        else 1
    )
    batch, most = bundle.result["settings"]["batch_size"], workload.full.max_batch_size * each
    if batch > most:
        yield _found(
            RESULT,
            "/settings/batch_size",
            str(batch),
            f"up to {most}, the largest that a search would try",
        )


def _found(file: str, pointer: str, found: str, expected: str) -> Violation:
    return Violation(
        file,
        pointer,
        found,
        expected,
        "It is possible, and more than was ever measured. Tell how it was reached.",
    )
