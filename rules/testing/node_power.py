"""Node power for a good bundle: the readings of a meter with two feeds around the accelerators'
readings of the bundle."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd

from rules.bundle import Bundle
from rules.bundle_format.records import NODE_SAMPLE_COLUMNS
from rules.bundle_format.table import Floats, Mask
from rules.metrics.node.figures import add_node_figures
from rules.metrics.node.missing import measure_missing
from rules.testing.frames import EvidenceFrames

METER = "pdu1"
FEEDS = ("A", "B")
SHARES = (0.52, 0.48)
"""Of the power of a node, by feed."""
HOST_W = 450.0
EFFICIENCY = 0.96
VOLTAGE_V = 230.0
POWER_FACTOR = 0.98
OUTSIDE_S = 8
"""How long the meter was read before the first sample and after the last one."""
BOUND_NS = 5_000_000


def add_node_power(evidence: EvidenceFrames, seed: int = 3) -> None:
    """Add the readings of a meter to a bundle, once a second, each the mean of the second before
    it. The caller must derive the figures again."""
    random = np.random.default_rng(seed)
    # The first version that has node power.
    evidence.result["protocol"] = "1.1"
    offset_ns = _read_offset_ns(evidence)
    tables, clocks = [], []
    nodes = [node["name"] for node in evidence.system["nodes"]]
    for node in nodes:
        ends_ns, power_w = _average_node(evidence, node, random)
        for feed, share in zip(FEEDS, SHARES, strict=True):
            tables.append(_make_feed(node, feed, ends_ns, share * power_w, offset_ns, random))
        clocks.append(
            {
                "meter": METER,
                "node": node,
                "offset_ns": -offset_ns,
                "bound_ns": BOUND_NS,
                "source": "requests",
            }
        )
    table = pd.concat(tables).sort_values(["scheduled_ns", "node", "feed"], ignore_index=True)
    evidence.node_samples = table[list(NODE_SAMPLE_COLUMNS)]
    evidence.system["meters"] = [_make_meter(evidence, nodes)]
    evidence.result["node_clocks"] = clocks
    ticks = int(table["scheduled_ns"].nunique())
    evidence.result["node_sampling"] = [
        {"meter": METER, "node": node, "interval_ms": 1000, "ticks": ticks, "missed": 0}
        for node in nodes
    ]


def state_node_figures(evidence: EvidenceFrames) -> None:
    """State the figures of nodes in result.json, beside those of the accelerators. Without such
    figures, those that are stated stay."""
    node_figures = Bundle(Path("bundle"), (), evidence.evidence()).node_figures
    if node_figures is not None:
        add_node_figures(evidence.result, node_figures)


def select_feed_rows(evidence: EvidenceFrames, feed: str = FEEDS[0]) -> Mask:
    """Mask of the readings of one feed, shape (n,)."""
    assert evidence.node_samples is not None
    mask: Mask = (evidence.node_samples["feed"] == feed).to_numpy(bool)
    return mask


def import_node_power(evidence: EvidenceFrames, missing: Iterable[int] = ()) -> None:
    """Add a log that was attached after the run, and lacks the readings of some seconds since the
    start of the first scored batch. Its meter has no energy counter."""
    add_node_power(evidence)
    table = evidence.node_samples
    assert table is not None
    table["energy_mj"] = np.nan
    start_ns = int(evidence.batches[evidence.batches["epoch"] == 1]["start_ns"].min())
    seconds = (table["scheduled_ns"] - start_ns) // 1_000_000_000
    evidence.node_samples = table[~seconds.isin(list(missing))].reset_index(drop=True)
    for meter in evidence.system["meters"]:
        meter.update(kind="csv", clock="import", energy_step_mj=None)
    traces = Bundle(Path("bundle"), (), evidence.evidence()).feed_traces
    for entry in evidence.result["node_sampling"]:
        found = measure_missing([t for t in traces if t.feed.node == entry["node"]])
        assert found is not None
        entry.update(missing_share=found.share, energy_bound_j=found.energy_bound_j)


def scale_power(evidence: EvidenceFrames, factor: float) -> None:
    """Multiply power, current and energy of all feeds."""
    table = evidence.node_samples
    assert table is not None
    for column in ("power_mw", "current_ma", "energy_mj"):
        table[column] = np.round(table[column] * factor)


def _read_offset_ns(evidence: EvidenceFrames) -> int:
    """Wall clock minus monotonic clock at the start of the run, in ns."""
    clocks = evidence.result.get("clocks")
    if clocks:
        return int(clocks[0]["wall_ns"]) - int(clocks[0]["monotonic_ns"])
    started_at = datetime.fromisoformat(evidence.result["started_at"])
    return int(started_at.timestamp() * 1e9) - int(evidence.samples["read_ns"].min())


def _average_node(
    evidence: EvidenceFrames, node: str, random: np.random.Generator
) -> tuple[np.ndarray, Floats]:
    """The ends of seconds in ns and the mean power of the node in each, both of shape (n,)."""
    samples = evidence.samples[evidence.samples["node"] == node]
    first_ns, last_ns = int(samples["read_ns"].min()), int(samples["read_ns"].max())
    seconds = (last_ns - first_ns) // 1_000_000_000 + 2 * OUTSIDE_S
    ends_ns = first_ns + (np.arange(seconds) - OUTSIDE_S + 1) * 1_000_000_000
    boards_w = np.zeros(seconds)
    grid_ns = first_ns + np.arange(-10 * OUTSIDE_S, 10 * (seconds - OUTSIDE_S)) * 100_000_000
    for _, board in samples.groupby("accelerator"):
        power_mw = board["power_mw"].fillna(board["power_avg_mw"])
        known = power_mw.notna().to_numpy()
        fine_mw = np.interp(grid_ns, board["read_ns"].to_numpy()[known], power_mw[known])
        boards_w += fine_mw.reshape(seconds, 10).mean(axis=1) / 1e3
    # Fans and processors drift slowly.
    host_w = HOST_W + np.cumsum(random.normal(0, 0.3, seconds)) + random.normal(0, 4, seconds)
    return ends_ns, (boards_w + host_w) / EFFICIENCY


def _make_feed(
    node: str,
    feed: str,
    ends_ns: np.ndarray,
    power_w: Floats,
    offset_ns: int,
    random: np.random.Generator,
) -> pd.DataFrame:
    sent_ns = ends_ns + random.integers(200_000, 900_000, len(ends_ns))
    voltage_v = VOLTAGE_V + random.normal(0, 0.4, len(ends_ns))
    current_a = power_w / voltage_v / POWER_FACTOR
    return pd.DataFrame(
        {
            "scheduled_ns": ends_ns,
            "sent_ns": sent_ns,
            "read_ns": sent_ns + random.integers(300_000, 800_000, len(ends_ns)),
            "node": node,
            "meter": METER,
            "feed": feed,
            "power_mw": np.round(power_w * 1e3),
            "energy_mj": 1e12 + np.round(np.cumsum(power_w)) * 1e3,
            "voltage_mv": np.round(voltage_v * 1e3),
            "current_ma": np.round(current_a * 1e3),
            "pf_ppm": POWER_FACTOR * 1e6,
            "meter_ns": ends_ns + offset_ns,
            "fresh": np.arange(len(ends_ns), dtype=np.float64),
            "status": "ok",
        }
    )


def _make_meter(evidence: EvidenceFrames, nodes: list[str]) -> dict[str, object]:
    started_at = datetime.fromisoformat(evidence.result["started_at"])
    return {
        "id": METER,
        "kind": "modbus",
        "model": "Example EM-1",
        "firmware": "2.1",
        "scope": "node",
        "location": "pdu-outlet",
        "current": "ac",
        "accuracy_percent": 1.0,
        "accuracy_source": "data sheet",
        "calibrated_on": (started_at - timedelta(days=90)).strftime("%Y-%m-%d"),
        "range_w": 4000.0,
        "interval_ms": 1000,
        "averaging_ms": 1000,
        "resolution_mw": 1,
        "energy_step_mj": 1000,
        "stamp_resolution_ms": 1,
        "clock": "own",
        "feeds": [{"feed": feed, "node": node} for node in nodes for feed in FEEDS],
        "nodes_covered": len(nodes),
        "includes": "fans and network cards",
        "excludes": "",
    }
