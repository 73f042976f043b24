"""What a report shows of a run besides its headline: the power of its nodes."""

import math
from dataclasses import dataclass

import numpy as np

from rules.bundle import Bundle
from rules.metrics.energy import build_trace


@dataclass(frozen=True)
class NodePower:
    """Power of the accelerators of one node together, while they worked in scored epochs, as means
    over a second; in W."""

    node: str
    accelerators: int
    median_w: float
    p95_w: float
    max_w: float
    rated_w: float | None
    """The sum of the highest limits of the boards; None where one is not known."""


def node_power(bundle: Bundle) -> list[NodePower]:
    """The power of each node of a run. Each board's readings are joined by straight lines and added
    at the times of one board's readings in scored epochs, and means are taken over each second: a
    single reading may be far above what a supply sees. Raises MetricsError where an
    accelerator has too few readings.
    """
    found = []
    active = bundle.scored_samples
    for node in bundle.system_declaration.nodes:
        own = [a for a in node.accelerators if a.uuid in bundle.accelerator_ranks]
        read_ns = (
            active.at(active.text("accelerator").equals(own[0].uuid)).ints("read_ns")
            if own
            else np.zeros(0, np.int64)
        )
        if not len(read_ns):
            continue
        total = np.zeros(len(read_ns))
        for accelerator in own:
            trace = build_trace(bundle.samples_of[accelerator.uuid])
            total += np.interp(
                (read_ns - trace.zero_ns) / 1e9, trace.usable_power_times_s, trace.usable_power_w
            )
        starts = np.flatnonzero(np.diff((read_ns - read_ns[0]) // 1_000_000_000, prepend=-1))
        total = np.add.reduceat(total, starts) / np.diff(starts, append=len(total))
        rated_w = [a.max_power_w for a in own if a.max_power_w is not None]
        found.append(
            NodePower(
                node=node.name,
                accelerators=len(own),
                median_w=float(np.median(total)),
                p95_w=float(np.percentile(total, 95)),
                max_w=float(total.max()),
                rated_w=math.fsum(rated_w) if len(rated_w) == len(own) else None,
            )
        )
    return found


@dataclass(frozen=True)
class PublishedNodePower:
    """Power of a whole node as a paper states it, in W."""

    source: str
    url: str
    accelerator: str
    accelerators: int
    work: str
    median_w: float
    max_w: float
    rated_w: float


_LATIF = ("Latif et al. 2024", "https://arxiv.org/abs/2412.08602", "H100", 8)

PUBLISHED_NODES = tuple(
    PublishedNodePower(*_LATIF, work, median_kw * 1e3, max_kw * 1e3, 10_200)
    for work, median_kw, max_kw in (
        ("ResNet-152 training, batch 512", 4.68, 5.02),
        ("ResNet-152 training, batch 4096", 6.26, 6.48),
        ("Llama2-13B fine-tuning, batch 128", 7.92, 8.42),
        ("gpu-burn and stress-ng", 8.43, 8.48),
    )
)
"""Latif, Newkirk, Carbone, Munir, Lin, Koomey, Yu, Dong: Empirical Measurements of AI Training
Power Demand on a GPU-Accelerated Node, section V, figures 1 and 2. The maximum at batch 512 is
printed as 5.02 W, and is read as kW."""
