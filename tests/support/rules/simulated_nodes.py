"""Simulated nodes around measured traces of accelerators, and meters that read them."""

import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from support.committed_runs import find_workload_runs

from rules.bundle_format.csv_table import read_table
from rules.bundle_format.table import SAMPLES
from rules.metrics.energy import Trace, build_trace
from rules.metrics.intervals import group_by_accelerator
from rules.metrics.node.clock import ClockEstimate, MeterReadings, estimate_clock

STEP_S = 0.1
LEAD_S = 10.0
"""How long the meter reads before the first and after the last sample of the accelerators."""


@dataclass(frozen=True)
class Node:
    """What a node draws beside its accelerators."""

    name: str
    base_w: float
    noise_w: float
    """Standard deviation of the host's power over 100 ms."""
    bursts_per_minute: float
    """How often processes on the host begin that draw up to `burst_w` for some seconds."""
    burst_w: float
    fan_share: float
    """What fans draw per W of heat. Their speed follows with a time constant of 15 s."""
    drift_w: float
    """Amplitude of a slow wave with a period of 10 minutes."""


QUIET = Node("quiet", 400.0, 8.0, 0.5, 20.0, 0.05, 10.0)
NOISY = Node("noisy", 900.0, 30.0, 6.0, 150.0, 0.08, 40.0)
RESTLESS = Node("restless", 900.0, 40.0, 12.0, 250.0, 0.08, 40.0)
NODES = (QUIET, NOISY, RESTLESS)


@dataclass(frozen=True)
class Meter:
    name: str
    interval_s: float
    averaging_s: float
    stamp_resolution_s: float
    resolution_w: float = 1.0
    drift_ppm: float = 50.0
    jitter_s: float = 0.002


METERS = (
    Meter("1 Hz, stamps in ms", 1.0, 1.0, 0.001),
    Meter("10 Hz, stamps in ms", 0.1, 0.1, 0.001),
    Meter("1 Hz, whole-second stamps", 1.0, 1.0, 1.0),
    Meter("every 5 s", 5.0, 1.0, 1.0),
)


@dataclass(frozen=True)
class Place:
    """An estimate, and how far it is from the offset that was simulated."""

    estimate: ClockEstimate
    error_s: float


@cache
def read_committed_traces() -> dict[str, list[Trace]]:
    """The traces of the accelerators of every measured run of a workload below submissions/."""
    traces_of = {}
    for bundle in find_workload_runs():
        path = bundle / SAMPLES
        samples = read_table(SAMPLES, gzip.decompress(path.read_bytes()))
        traces_of[bundle.name] = [
            build_trace(rows) for rows in group_by_accelerator(samples).values()
        ]
    return traces_of


def place_meter(traces: Sequence[Trace], node: Node, meter: Meter, seed: int) -> Place:
    """Place a meter whose clock is up to 30 s off."""
    offset_s = float(np.random.default_rng((seed, 1)).uniform(-30.0, 30.0))
    readings, truth_s = read_node(traces, node, meter, offset_s, seed)
    estimate = estimate_clock(readings, traces)
    assert estimate is not None
    return Place(estimate, abs(estimate.offset_s - truth_s))


def simulate_power(
    traces: Sequence[Trace], node: Node, seed: int, step_s: float = STEP_S
) -> tuple[np.ndarray, np.ndarray]:
    """Times in s since the first sample, and the node's power in W at its inlet."""
    random = np.random.default_rng(seed)
    zero_ns = min(trace.zero_ns for trace in traces)
    end_s = max((t.zero_ns - zero_ns) / 1e9 + t.usable_power_times_s[-1] for t in traces)
    times_s = np.arange(-LEAD_S, end_s + LEAD_S, step_s)
    boards_w = sum(
        np.interp(times_s, (t.zero_ns - zero_ns) / 1e9 + t.usable_power_times_s, t.usable_power_w)
        for t in traces
    )
    host_w = node.base_w + random.normal(0.0, node.noise_w, len(times_s))
    for start_s in random.uniform(
        times_s[0], times_s[-1], random.poisson(node.bursts_per_minute * end_s / 60)
    ):
        length_s = random.exponential(8.0)
        host_w[(times_s >= start_s) & (times_s < start_s + length_s)] += (
            random.uniform(0.2, 1.0) * node.burst_w
        )
    host_w += node.drift_w * np.sin(2 * np.pi * times_s / 600 + random.uniform(0, 2 * np.pi))
    fans_w = np.empty_like(boards_w)
    level_w = boards_w[0]
    for i, board_w in enumerate(boards_w):
        level_w += (board_w - level_w) * step_s / 15.0
        fans_w[i] = node.fan_share * level_w
    dc_w = boards_w + host_w + fans_w
    load = dc_w / (2 * dc_w.max())
    efficiency = 0.97 - 0.02 * (load - 0.5) ** 2 - 0.004 / (load + 0.05) * 0.1
    return times_s, dc_w / efficiency


def read_node(
    traces: Sequence[Trace],
    node: Node,
    meter: Meter,
    offset_s: float,
    seed: int,
    step_s: float = STEP_S,
) -> tuple[MeterReadings, float]:
    """The readings of a meter whose clock is `offset_s` behind in the middle of the run, and the
    offset that places them: cut stamps are half their resolution early on average."""
    random = np.random.default_rng(seed + 1)
    times_s, power_w = simulate_power(traces, node, seed, step_s)
    energy_j = np.concatenate(([0.0], np.cumsum((power_w[1:] + power_w[:-1]) / 2 * step_s)))
    first_s = times_s[0] + meter.averaging_s + random.uniform(0, meter.interval_s)
    read_s = np.arange(first_s, times_s[-1], meter.interval_s)
    read_s = read_s + random.uniform(0, meter.jitter_s, len(read_s))
    means_w = (
        np.interp(read_s, times_s, energy_j)
        - np.interp(read_s - meter.averaging_s, times_s, energy_j)
    ) / meter.averaging_s
    middle_s = (times_s[0] + times_s[-1]) / 2
    clock_s = read_s - offset_s - (read_s - middle_s) * meter.drift_ppm * 1e-6
    stamps_s = np.floor(clock_s / meter.stamp_resolution_s) * meter.stamp_resolution_s
    zero_ns = min(trace.zero_ns for trace in traces)
    return (
        MeterReadings(
            zero_ns + np.round(stamps_s * 1e9).astype(np.int64),
            np.round(means_w / meter.resolution_w) * meter.resolution_w,
            meter.averaging_s,
            meter.stamp_resolution_s,
        ),
        offset_s + meter.stamp_resolution_s / 2,
    )
