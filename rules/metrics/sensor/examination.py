"""What the sensors of one board report of a load of known pulses: the response of each sensor, and
the mean power by each of them in every stage of the load."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rules.bundle_format.table import Floats
from rules.metrics.energy import MetricsError, counter_energies, trapezoid_energies
from rules.metrics.sensor.load_wave import LoadWave
from rules.metrics.sensor.response import (
    Pulses,
    SensorResponse,
    find_refreshes,
    fit_counter,
    fit_power,
)

POWER, AVERAGE, COUNTER = "power_mw", "power_avg_mw", "energy_mj"
BUFFER, MEMORY = "buffer_mw", "mem_power_mw"
QUANTITIES = (POWER, AVERAGE, COUNTER, BUFFER, MEMORY)
SAMPLING_S = 0.1
"""The interval of the protocol."""
SETTLING_S = 1.5
"""The start of a stage that is left out, because averaged power still follows the stage before."""
GUARD_S = 0.1
"""The end of a stage that is left out, because the load may end late."""


@dataclass(frozen=True)
class Readings:
    """n reads of one quantity, each between a start and an end in s, with ends that rise. `values`
    are in W or J, and all three have shape (n,)."""

    starts_s: Floats
    ends_s: Floats
    values: Floats


@dataclass(frozen=True)
class StageSpan:
    """The time of one stage of the load, in s."""

    name: str
    start_s: float
    end_s: float


@dataclass(frozen=True)
class StageFigures:
    """The mean power of one stage by each sensor."""

    name: str
    load_share: float
    """Share of the stage in which the board computed."""
    expected_w: float | None
    """Power of that share between the levels of the steady stages, by the counter. None without
    steady stages."""
    mean_w: Mapping[str, float]
    """By quantity. That of `power_mw` is the trapezoid over reads every 100 ms, as the protocol
    takes them."""


@dataclass(frozen=True)
class SensorExamination:
    """The responses of the sensors of one board, and the stages."""

    responses: Mapping[str, SensorResponse]
    """By quantity, of those in which the load shows."""
    stages: tuple[StageFigures, ...]


def examine_readings(
    readings: Mapping[str, Readings], pulses: Pulses, stages: Sequence[StageSpan]
) -> SensorExamination:
    """The examination of one board, given the reads of those quantities of `QUANTITIES` that it
    has."""
    refreshes = {
        # The driver stamps each reading of its buffer.
        quantity: (reads.ends_s, reads.values)
        if quantity == BUFFER
        else find_refreshes(reads.starts_s, reads.ends_s, reads.values)
        for quantity, reads in readings.items()
    }
    responses: dict[str, SensorResponse] = {}
    for quantity, (times_s, values) in refreshes.items():
        fit = fit_counter if quantity == COUNTER else fit_power
        if response := fit(pulses, times_s, values):
            responses[quantity] = response
    wave = LoadWave(*pulses, 0.0)
    figures: list[StageFigures] = []
    levels_w: dict[float, float] = {}
    for stage in stages:
        start_s, end_s = stage.start_s + SETTLING_S, stage.end_s - GUARD_S
        load_share = float(wave.compute_means(np.array([start_s]), np.array([end_s]))[0])
        mean_w: dict[str, float] = {}
        for quantity, reads in readings.items():
            lag_s = _compute_lag_s(quantity, responses.get(quantity))
            span_s = start_s + lag_s, end_s + lag_s
            if quantity == COUNTER:
                power_w = _compute_counter_w(*refreshes[quantity], span_s)
            else:
                power_w = _compute_mean_w(reads, span_s, SAMPLING_S if quantity == POWER else None)
            if power_w is not None:
                mean_w[quantity] = power_w
        level = round(load_share, 6)
        if level in (0.0, 1.0) and COUNTER in mean_w:
            levels_w.setdefault(level, mean_w[COUNTER])
        expected_w = None
        if len(levels_w) == 2:
            expected_w = levels_w[0.0] + load_share * (levels_w[1.0] - levels_w[0.0])
        figures.append(StageFigures(stage.name, load_share, expected_w, mean_w))
    return SensorExamination(responses, tuple(figures))


def _compute_lag_s(quantity: str, response: SensorResponse | None) -> float:
    """How long after a time its power shows in the readings."""
    if response is None:
        return 0.0
    lag_s = response.delay_s + response.window_s / 2
    # The interpolated counter is the energy until each refresh. Its step has the same middle as the
    # window if that is as long as the period.
    return lag_s - response.period_s / 2 if quantity == COUNTER else lag_s


def _compute_counter_w(
    times_s: Floats, counter_j: Floats, span_s: tuple[float, float]
) -> float | None:
    """The mean power over a span by the counter, interpolated between its changes. None if it is
    not covered."""
    start, end = (np.array([time_s]) for time_s in span_s)
    try:
        energy_j = counter_energies(times_s, counter_j, start, end)
    except MetricsError:
        return None
    return None if energy_j is None else float(energy_j[0]) / (span_s[1] - span_s[0])


def _compute_mean_w(
    reads: Readings, span_s: tuple[float, float], interval_s: float | None
) -> float | None:
    """The mean power over a span by the trapezoid over all reads, or over the first read of each
    interval. None if the span is not covered."""
    times_s, power_w = reads.ends_s, reads.values
    if interval_s is not None:
        _, first = np.unique(np.floor(times_s / interval_s), return_index=True)
        times_s, power_w = times_s[first], power_w[first]
    if len(times_s) < 2:
        return None
    start, end = (np.array([time_s]) for time_s in span_s)
    try:
        energy_j = trapezoid_energies(times_s, power_w, start, end)
    except MetricsError:
        return None
    return float(energy_j[0]) / (span_s[1] - span_s[0])
