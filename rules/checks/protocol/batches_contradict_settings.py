"""Batches that contradict the settings of the run

## What it does
Asks of every epoch that exactly the declared ranks have batches, that each rank has
`batches_per_epoch` of them, numbered from 0, and that each batch has the items of `batch_size`
samples: an image is one item, a sequence as many as it has tokens. For serving a batch is one
request, and its items are the output tokens that `requests` declares.

## Why it is bad
Items make the throughput. Batches that are larger than declared, doubled or attributed to a rank
that does not exist are work that nobody did.

## What to do
Run again; leave batches.csv.gz as the recorder wrote it.

## Source
Protocol, sections "epochs, discarded" and "what counts".
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.table import BATCHES, rows
from rules.finding import Severity, Violation
from rules.rule import BundleRule
from rules.workloads import Size, workloads

RULE = BundleRule(__name__, "P109", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    batches, settings = bundle.batches, bundle.result["settings"]
    rank = batches.ints("rank")
    declared = {r["rank"] for r in bundle.result["ranks"]}
    unknown = ~np.isin(rank, list(declared))
    if unknown.any():
        yield _found(
            rows(batches, unknown),
            f"{unknown.sum()} batches of undeclared ranks",
            f"ranks {sorted(declared)}",
        )
    yield from _counts(bundle, declared, settings["batches_per_epoch"])
    workload = workloads().get(bundle.result["workload"])
    size: Size | None = getattr(workload, bundle.result["size"], None)
    if workload is None or size is None:
        return
    wanted, reason = (
        settings["batch_size"] * size.items_per_sample,
        f"settings.batch_size x {size.items_per_sample}",
    )
    if requests := settings.get("requests"):
        wanted, reason = requests["output_tokens"], "settings.requests.output_tokens"
    odd = batches.ints("items") != wanted
    if odd.any():
        expected = f"{wanted} items: {reason}"
        yield _found(rows(batches, odd), f"{odd.sum()} batches of another size", expected)


def _counts(bundle: Bundle, declared: set[int], wanted: int) -> Iterator[Violation]:
    batch, none = bundle.batches.ints("batch"), np.empty(0, dtype=np.int64)
    due = np.arange(min(wanted, len(batch)))  # not as many as a bundle may ask for
    for e in dict.fromkeys(epoch for epoch, _ in bundle.batches_of):
        wrong = []
        for r in sorted(declared):
            numbers = batch[bundle.batches_of.get((e, r), none)]
            if len(numbers) != wanted or (numbers != due).any():
                wrong.append(
                    f"rank {r} has {len(numbers)} batches ({len(np.unique(numbers))} numbers)"
                )
        if wrong:
            yield _found(
                "",
                f"epoch {e}: {', '.join(wrong[:4])}",
                f"{wanted} batches of each rank, numbered from 0",
            )


def _found(pointer: str, found: str, expected: str) -> Violation:
    message = (
        "The batches are not those that the settings announce. Leave both as they were "
        "written, or run again."
    )
    return Violation(BATCHES, pointer, found, expected, message)
