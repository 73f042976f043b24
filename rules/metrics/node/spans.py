"""When epochs lasted on each node: from the start of the first batch there to the end of the
last."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from rules.bundle_format.table import Table
from rules.declarations.run import RunDeclaration
from rules.protocol import PROTOCOLS


@dataclass(frozen=True)
class NodeSpan:
    """From the first batch to the last of some epochs on one node."""

    node: str
    start_ns: int
    end_ns: int

    @property
    def seconds(self) -> float:
        return (self.end_ns - self.start_ns) / 1e9


def span_epochs(run: RunDeclaration, batches: Table) -> dict[int, list[NodeSpan]]:
    """The span of each epoch on each node, by epoch."""
    node_of = {rank.rank: rank.node for rank in run.ranks}
    epochs, ranks = batches.ints("epoch"), batches.ints("rank")
    starts_ns, ends_ns = batches.ints("start_ns"), batches.ints("end_ns")
    spans: dict[int, list[NodeSpan]] = {}
    for epoch in np.unique(epochs).tolist():
        in_epoch = epochs == epoch
        for node in dict.fromkeys(node_of.values()):
            on_node = in_epoch & np.isin(ranks, [r for r, name in node_of.items() if name == node])
            if on_node.any():
                span = NodeSpan(node, int(starts_ns[on_node].min()), int(ends_ns[on_node].max()))
                spans.setdefault(epoch, []).append(span)
    return spans


def join_spans(spans: Iterable[NodeSpan]) -> list[NodeSpan]:
    """One span for each node: from the start of its first to the end of its last."""
    joined: dict[str, NodeSpan] = {}
    for span in spans:
        last = joined.setdefault(span.node, span)
        joined[span.node] = NodeSpan(
            span.node, min(last.start_ns, span.start_ns), max(last.end_ns, span.end_ns)
        )
    return list(joined.values())


def span_scored_epochs(run: RunDeclaration, batches: Table) -> list[NodeSpan]:
    """The spans of the scored epochs on all nodes."""
    discarded = PROTOCOLS[run.protocol].discarded_epochs
    spans = span_epochs(run, batches)
    return [span for epoch, of_epoch in spans.items() if epoch >= discarded for span in of_epoch]
