"""Simulated loads of one board, what its sampler reads of them, and where a node meter beside it is
placed."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from support.rules.simulated_nodes import Meter, Node, Place, read_node

from rules.bundle_format.table import Floats, Table
from rules.metrics.energy import Trace
from rules.metrics.node.clock import estimate_clock

BUSY_W, IDLE_W = 690.0, 240.0
RUN_S = 600.0
_FINE_S = 0.01
_NODE_STEP_S = 0.02
"""Short enough for meters that average over 0.1 s."""
_SAMPLE_S = 0.1


LOAD_METERS = (
    Meter("1 s, mean of 1 s", 1.0, 1.0, 0.001),
    Meter("1 s, mean of 0.1 s", 1.0, 0.1, 0.001),
    Meter("5 s, mean of 5 s", 5.0, 5.0, 0.001),
    Meter("5 s, mean of 1 s, whole-second stamps", 5.0, 1.0, 1.0),
    Meter("5 s, mean of 0.1 s", 5.0, 0.1, 0.001),
    Meter("10 s, mean of 1 s", 10.0, 1.0, 0.001),
)


@dataclass(frozen=True)
class Load:
    name: str
    draw: Callable[[Floats, np.random.Generator], Floats]
    """The power in W at the given times in s."""


def _draw_pauses(times_s: Floats, random: np.random.Generator) -> Floats:
    """Pauses of 0.4 s about every 31.9 s."""
    starts_s = np.arange(random.uniform(0, 31.9), RUN_S, 31.9)
    starts_s += random.normal(0.0, 0.1, len(starts_s))
    return np.where(_is_within(times_s, starts_s, 0.4), IDLE_W, BUSY_W)


def _draw_epochs(times_s: Floats, random: np.random.Generator) -> Floats:
    """Epochs of about 30 s, with pauses of 2 to 5 s."""
    starts_s = np.cumsum(random.uniform(28.0, 34.0, int(RUN_S / 28)))
    lengths_s = random.uniform(2.0, 5.0, len(starts_s))
    return np.where(_is_within(times_s, starts_s, lengths_s), IDLE_W, BUSY_W)


def _draw_batches(times_s: Floats, random: np.random.Generator) -> Floats:
    """Batches of exactly 2 s, each with a phase of low power, and no pauses."""
    low = (times_s + random.uniform(0.0, 2.0)) % 2.0 < 0.6
    return np.where(low, IDLE_W + 200.0, BUSY_W)


def _draw_requests(times_s: Floats, random: np.random.Generator) -> Floats:
    """Requests that arrive at random: 12 a minute, each 4 s long on average."""
    starts_s = np.cumsum(random.exponential(5.0, int(RUN_S / 4)))
    lengths_s = random.exponential(4.0, len(starts_s))
    return np.where(_is_within(times_s, starts_s, lengths_s), BUSY_W, IDLE_W)


def _draw_constant(times_s: Floats, random: np.random.Generator) -> Floats:
    """A constant load, whose power wanders by some W."""
    return BUSY_W + 3.0 * np.sin(times_s / 47.0 + random.uniform(0.0, 6.0))


def _is_within(times_s: Floats, starts_s: Floats, lengths_s: Floats | float) -> np.ndarray:
    lengths_s = np.broadcast_to(lengths_s, starts_s.shape)
    within = np.zeros(len(times_s), bool)
    for start_s, length_s in zip(starts_s, lengths_s, strict=True):
        within |= (times_s >= start_s) & (times_s < start_s + length_s)
    return within


LOADS = (
    Load("epochs with pauses of 2 s to 5 s", _draw_epochs),
    Load("requests at random", _draw_requests),
    Load("pauses of 0.4 s every 31.9 s", _draw_pauses),
    Load("batches of 2.0 s", _draw_batches),
    Load("constant", _draw_constant),
)


def place_on_load(
    load: Load, node: Node, meter: Meter, seed: int, offset_s: float | None = None
) -> Place:
    """Place a meter whose clock is `offset_s` behind, or at random up to 30 s off."""
    if offset_s is None:
        offset_s = float(np.random.default_rng((seed, 1)).uniform(-30.0, 30.0))
    drawn, seen = simulate_load(load, seed)
    readings, truth_s = read_node(drawn, node, meter, offset_s, seed, _NODE_STEP_S)
    estimate = estimate_clock(readings, seen)
    assert estimate is not None
    return Place(estimate, abs(estimate.offset_s - truth_s))


def simulate_load(load: Load, seed: int) -> tuple[list[Trace], list[Trace]]:
    """The power of one board every 10 ms, and what its sampler reads of it every 100 ms: the mean
    of the last 100 ms, with noise, up to 5 ms late."""
    random = np.random.default_rng((seed, 2))
    times_s = np.arange(0.0, RUN_S, _FINE_S)
    power_w = load.draw(times_s, random) + random.normal(0.0, 6.0, len(times_s))
    read_s = np.arange(_SAMPLE_S, RUN_S - 0.1, _SAMPLE_S)
    read_s = read_s + random.uniform(0.0, 0.005, len(read_s))
    energy_j = np.concatenate(([0.0], np.cumsum(power_w[:-1]) * _FINE_S))
    means_w = np.diff(np.interp([read_s - _SAMPLE_S, read_s], times_s, energy_j), axis=0)[0]
    return [_build(times_s, power_w)], [_build(read_s, means_w / _SAMPLE_S)]


def _build(times_s: Floats, power_w: Floats) -> Trace:
    none = np.empty(0)
    return Trace(
        samples=Table.of({}),
        zero_ns=0,
        averaged=False,
        read_s=times_s,
        power_w=power_w,
        usable_power_times_s=times_s,
        usable_power_w=power_w,
        counter_times_s=none,
        counter_j=none,
        has_repeats=False,
    )
