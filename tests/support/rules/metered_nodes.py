"""Runs on nodes with meters, made by hand: power is constant and times are whole seconds, so each
figure can be worked out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from support.rules.figure_parts import (
    S,
    compute_figures,
    make_batches,
    make_parts,
    make_result,
    make_samples,
)

from rules.bundle_format.records import NO_STAMP, NODE_SAMPLE_COLUMNS
from rules.declarations.run import RunDeclaration
from rules.declarations.system import SystemDeclaration
from rules.metrics.node.figures import NodeFigures, compute_node_figures
from rules.testing.frames import table_of

ITEMS = 100
"""Of each epoch on each node."""
OUTSIDE = 3.0
"""What a node draws before and after its epochs, over what it draws in them."""


@dataclass(frozen=True)
class MeteredNode:
    """A node with one board. Times are in s on its own clock."""

    name: str
    feeds_w: Mapping[tuple[str, str], float]
    """Power in the epochs, by meter and feed."""
    edges_s: Sequence[int] = (1000, 1020, 1060, 1100)
    """The starts of the epochs, each the end of the one before, and the end of the last."""
    board_w: float = 500.0
    lead_s: int = 8
    """How long the meters read before the first epoch."""
    tail_s: int = 8
    """How long they read after the last one."""
    interval_s: int = 1
    counter: bool = True


@dataclass(frozen=True)
class MeteredRun:
    """A run on nodes with meters."""

    nodes: Sequence[MeteredNode]
    accuracies_percent: Mapping[str, float | None] = field(default_factory=dict)
    """By meter; 1 % for the others."""

    def compute(self) -> NodeFigures:
        """The figures of the nodes. Raises MetricsError."""
        boards = [f"board-{node.name}" for node in self.nodes]
        result = make_result(*boards)
        for rank, node in zip(result["ranks"], self.nodes, strict=True):
            rank["node"] = node.name
        system: dict[str, Any] = {
            "nodes": [
                {"name": node.name, "accelerators": [{"uuid": board, "name": "NVIDIA H200"}]}
                for node, board in zip(self.nodes, boards, strict=True)
            ],
            "meters": self._make_meters(),
        }
        batches = make_batches(
            *(
                (epoch, 0, rank, start_s, end_s, ITEMS)
                for rank, node in enumerate(self.nodes)
                for epoch, (start_s, end_s) in enumerate(pairwise(node.edges_s))
            )
        )
        samples = pd.concat(
            make_samples(
                board,
                np.full(10 * (node.edges_s[-1] - node.edges_s[0]) + 1, node.board_w),
                node.edges_s[0] * S,
                node=node.name,
            )
            for node, board in zip(self.nodes, boards, strict=True)
        )
        feeds = [(node, *feed) for node in self.nodes for feed in node.feeds_w]
        parts = make_parts(result, samples, batches)
        return compute_node_figures(
            RunDeclaration.from_document(result),
            SystemDeclaration.from_document(system),
            table_of(pd.concat(_read_feed(*feed) for feed in feeds)),
            table_of(batches),
            parts,
            compute_figures(result, system, parts),
        )

    def _make_meters(self) -> list[dict[str, Any]]:
        feeds: dict[str, list[dict[str, str]]] = {}
        for node in self.nodes:
            for meter, feed in node.feeds_w:
                feeds.setdefault(meter, []).append({"feed": feed, "node": node.name})
        return [
            {
                "id": meter,
                "scope": "node",
                "current": "ac",
                "clock": "node",
                "interval_ms": 1000,
                # A BMC does not state it.
                **({} if meter == "bmc" else {"averaging_ms": 1000}),
                "energy_step_mj": 1,
                "accuracy_percent": self.accuracies_percent.get(meter, 1.0),
                "feeds": feeds_of_meter,
            }
            for meter, feeds_of_meter in feeds.items()
        ]


def _read_feed(node: MeteredNode, meter: str, feed: str) -> pd.DataFrame:
    """The readings of a feed, each the mean of the interval before it."""
    start_s, end_s = node.edges_s[0], node.edges_s[-1]
    times_s = np.arange(start_s - node.lead_s, end_s + node.tail_s + 1, node.interval_s)
    computes = (start_s < times_s) & (times_s <= end_s)
    power_w = node.feeds_w[meter, feed] * np.where(computes, 1.0, OUTSIDE)
    energy_j = np.cumsum(power_w * node.interval_s)
    return pd.DataFrame(
        dict.fromkeys(NODE_SAMPLE_COLUMNS, np.nan)
        | dict.fromkeys(("scheduled_ns", "sent_ns", "read_ns"), times_s * S)
        | {
            "node": node.name,
            "meter": meter,
            "feed": feed,
            "power_mw": power_w * 1e3,
            "energy_mj": energy_j * 1e3 if node.counter else np.nan,
            "meter_ns": NO_STAMP,
            "status": "ok",
        }
    )
