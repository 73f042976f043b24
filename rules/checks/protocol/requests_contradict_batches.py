"""Requests that contradict the batches

## What it does
Asks that the batches of a serving run are its requests: as many in every epoch and rank, with the
same ends and output tokens, each beginning when it was sent or, where it was in flight when its
epoch began, at the end of the epoch before.

## Why it is bad
Throughput comes from the batches, waiting times from the requests. Where they differ, one of them
is not what happened.

## What to do
Leave both tables as the run wrote them.

## Source
Bundle format, requests.csv.gz.
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.records import REQUESTS_FILE
from rules.bundle_format.table import BATCHES, Table
from rules.finding import Severity, Violation
from rules.metrics.intervals import group_by_epoch_and_rank
from rules.rule import BundleRule

RULE = BundleRule(__name__, "P117", Severity.ERROR, added="1.1.0", waivable=False)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    if bundle.requests is None:
        return
    batches = _in_order(bundle.batches, "epoch", "rank", "end_ns", "start_ns")
    requests = _in_order(bundle.requests, "epoch", "rank", "end_ns", "sent_ns")
    if len(batches) != len(requests):
        yield _found(
            f"{len(requests)} requests and {len(batches)} batches", "as many of one as of the other"
        )
        return
    for theirs, ours in {
        "epoch": "epoch",
        "rank": "rank",
        "end_ns": "end_ns",
        "output_tokens": "items",
    }.items():
        odd = requests.ints(theirs) != batches.ints(ours)
        if odd.any():
            yield _found(
                f"{odd.sum()} requests whose {theirs} is not that of a batch",
                f"{theirs} = {ours} of a batch",
            )
            return
    # When the first epoch began no table says: its windows may begin at any time since the request
    # was sent.
    first = batches.ints("epoch") == batches.ints("epoch")[:1]
    start_ns, sent_ns = batches.ints("start_ns"), requests.ints("sent_ns")
    odd = np.where(first, start_ns < sent_ns, start_ns != np.maximum(sent_ns, _begins_ns(batches)))
    if odd.any():
        expected = "the later of sent_ns and the end of the epoch before"
        yield _found(f"{odd.sum()} batches that begin at another time than their request", expected)


def _in_order(table: Table, *columns: str) -> Table:
    return table.at(np.lexsort([table.ints(column) for column in reversed(columns)]))


def _begins_ns(batches: Table) -> np.ndarray:
    """For each batch, shape (n,), the end of its rank's epoch before, 0 in the first."""
    begins_ns = np.zeros(len(batches), dtype=np.int64)
    last_ns: dict[int, int] = {}
    for (_, rank), at in group_by_epoch_and_rank(batches).items():
        begins_ns[at] = last_ns.get(rank, 0)
        last_ns[rank] = int(batches.ints("end_ns")[at].max())
    return begins_ns


def _found(found: str, expected: str) -> Violation:
    message = (
        f"{BATCHES} and {REQUESTS_FILE} tell of the same requests and must agree. Leave both "
        "as the run wrote them."
    )
    return Violation(REQUESTS_FILE, "", found, expected, message)
