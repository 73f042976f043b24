"""The samples of a board for the bundle of its study.

A study of many models takes hours, and a part of them is spent on building models. The bundle has
the samples until the first window of a board ends, with idle phase and burn-in, and those around
its other windows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rules.bundle_format.csv_table import read_table
from rules.bundle_format.files import Refused
from rules.bundle_format.records import SAMPLES_FILE, STUDY
from rules.bundle_format.table import Ints, Mask, Table
from rules.metrics.energy import MetricsError

MARGIN_NS = 500_000_000
"""Samples so near a window are kept."""


@dataclass(frozen=True)
class BoardSamples:
    """The samples of a board in a session."""

    kept: Table
    """Those for the bundle."""
    ticks: int
    """The number of all."""
    missed: int
    """The number of those that the sampler missed."""


def read_samples(path: Path, windows: Sequence[tuple[int, int]], interval_ns: int) -> BoardSamples:
    """Read the file of samples of a board. `windows` are start and end in ns of its points. Raises
    rules.metrics.energy.MetricsError."""
    content = path.read_bytes()
    # A power cut may have left an incomplete last line.
    content = content[: content.rfind(b"\n") + 1]
    try:
        samples = read_table(SAMPLES_FILE, content, STUDY)
    except Refused as refusal:
        violation = refusal.problems[0].violation
        raise MetricsError(
            f"{path}: {violation.pointer}: found {violation.found}, expected {violation.expected}"
        ) from None
    slots = np.diff(samples.ints("scheduled_ns")) // interval_ns
    missed = int((slots - 1).sum())
    kept = select_near(samples.ints("read_ns"), windows)
    return BoardSamples(samples.at(kept), len(samples), missed)


def select_near(read_ns: Ints, windows: Sequence[tuple[int, int]]) -> Mask:
    """Return which samples a bundle keeps, shape (n,). `read_ns` are their times, shape (n,), which
    rise."""
    ordered = sorted(windows)
    if not ordered:
        return np.ones(len(read_ns), dtype=bool)
    # Windows of a board do not overlap, so the last one that begins before a sample is the only
    # one that can contain it.
    starts_ns = np.array([start for start, _ in ordered]) - MARGIN_NS
    ends_ns = np.array([end for _, end in ordered]) + MARGIN_NS
    latest = np.searchsorted(starts_ns, read_ns, side="right") - 1
    # All samples before the first window are kept. An earlier margin may reach beyond a later one.
    reached_ns = np.maximum.accumulate(ends_ns)[np.maximum(latest, 0)]
    mask: Mask = read_ns <= reached_ns
    # The energy of a window depends on the samples next to it, which are far from it if the sampler
    # missed ticks.
    edges_ns = np.array(ordered)
    mask[np.maximum(np.searchsorted(read_ns, edges_ns[:, 0], side="right") - 1, 0)] = True
    mask[np.minimum(np.searchsorted(read_ns, edges_ns[:, 1]), len(read_ns) - 1)] = True
    return mask
