"""The requests contradict the batches

## What it does
Checks that the batches of a serving run are its requests: equal numbers in every epoch and rank,
with equal ends and output tokens. Each batch must begin when its request was sent or, if the
request was in flight when its epoch began, at the end of the previous epoch.

## Why it is bad
Throughput is computed from the batches, and latencies from the requests. If the two differ, at
least one of them is wrong.

## What to do
Submit both tables as the run wrote them.

## Source
Bundle format, requests.csv.gz.
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.records import REQUESTS_FILE
from rules.bundle_format.table import Ints, Table
from rules.finding import Severity, Violation
from rules.metrics.intervals import group_by_epoch_and_rank
from rules.rule import BundleRule

RULE = BundleRule(__name__, "P117", Severity.ERROR, added="1.1.0", waivable=False)

EQUAL_COLUMNS = (
    ("epoch", "epoch"),
    ("rank", "rank"),
    ("end_ns", "end_ns"),
    ("output_tokens", "items"),
)
"""Columns of requests and batches that must be equal."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    if bundle.requests is None:
        return
    # Batches are numbered by their end and requests by their sending. Sorting both by end pairs
    # them.
    batches = _sort_rows(bundle.batches, "epoch", "rank", "end_ns", "start_ns")
    requests = _sort_rows(bundle.requests, "epoch", "rank", "end_ns", "sent_ns")
    if len(batches) != len(requests):
        observed = f"{len(requests)} requests and {len(batches)} batches"
        yield Violation(REQUESTS_FILE, "", observed, "equal numbers of requests and batches")
        return
    for column, batch_column in EQUAL_COLUMNS:
        differs = requests.ints(column) != batches.ints(batch_column)
        if differs.any():
            yield Violation(
                REQUESTS_FILE,
                "",
                f"{differs.sum()} requests whose {column} differs from that of their batch",
                f"{column} equal to {batch_column} of a batch",
            )
            return
    # No table states when the first epoch began: its windows may begin at any time since their
    # request was sent.
    is_first = batches.ints("epoch") == batches.ints("epoch")[:1]
    start_ns, sent_ns = batches.ints("start_ns"), requests.ints("sent_ns")
    expected_ns = np.maximum(sent_ns, _find_epoch_begins(batches))
    differs = np.where(is_first, start_ns < sent_ns, start_ns != expected_ns)
    if differs.any():
        yield Violation(
            REQUESTS_FILE,
            "",
            f"{differs.sum()} batches that begin at another time than their request",
            "the later of sent_ns and the end of the previous epoch",
        )


def _sort_rows(table: Table, *columns: str) -> Table:
    return table.at(np.lexsort([table.ints(column) for column in reversed(columns)]))


def _find_epoch_begins(batches: Table) -> Ints:
    """For each batch, shape (n,), the end of the previous epoch of its rank in ns; 0 in the
    first."""
    begins_ns = np.zeros(len(batches), dtype=np.int64)
    previous_end_ns: dict[int, int] = {}
    for (_, rank), rows in group_by_epoch_and_rank(batches).items():
        begins_ns[rows] = previous_end_ns.get(rank, 0)
        previous_end_ns[rank] = int(batches.ints("end_ns")[rows].max())
    return begins_ns
