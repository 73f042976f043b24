"""Readings have another unit than the table

## What it does
Looks, over the scored epochs of each accelerator, for the factors of a wrong unit: 10³ and 10⁶ in
both directions, and 3 600 for watt-hours. The rule compares

- the mean power with the power that the board can draw;
- the averaged readings with the instantaneous ones;
- the energy counter with the trapezoid over the power samples;
- the distance of the samples with the sampling interval;
- the time of the last batch with that of the last sample.

It names the unit in which the numbers would be correct. Other rules report the same bundle, for
power above the board or energies that disagree. This rule names the cause.

## Why it is bad
An error by a factor of a thousand in power or time directly changes joules per item and items per
second. It is the most frequent mistake in power logs, because libraries use watts, milliwatts,
microwatts and counts side by side.

## What to do
Look up the unit of the quantity in the reference of the library, convert it where it is read, and
run again.

## Source
Bundle format: powers are milliwatts, energies millijoules, times nanoseconds. NVML and AMD SMI
references: NVML gives milliwatts and millijoules; AMD SMI gives watts, microwatts for caps, and a
count times a resolution in microjoules for energy.
"""

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from rules.boards import Board
from rules.bundle import Bundle
from rules.bundle_format.table import BATCHES, SAMPLES, Floats, Table
from rules.declarations.system import Accelerator
from rules.finding import Severity, Violation
from rules.metrics.parts import Part
from rules.metrics.power.readings import read_average_power_w, read_power_w
from rules.rule import BundleRule

RULE = BundleRule(__name__, "W113", Severity.ERROR, added="1.3.0")

# By the factor by which a number is too large if it is in this unit instead of the table's.
POWER_UNITS = {1e-6: "kilowatts", 1e-3: "watts", 1e3: "microwatts", 1e6: "nanowatts"}
ENERGY_UNITS = {
    1e-6: "kilojoules",
    1e-3: "joules",
    1e3: "microjoules",
    1e6: "nanojoules",
    1 / 3600: "milliwatt-hours",
    1 / 3.6e6: "watt-hours",
}
TIME_UNITS = {1e-9: "seconds", 1e-6: "milliseconds", 1e-3: "microseconds", 1e3: "picoseconds"}
TOLERANCE = 0.1
"""How far a ratio may differ from a factor, as a share: boards and meters differ by less."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    # Energy is power times time, so the times are judged first.
    wrong_times = list(_check_times(bundle))
    yield from wrong_times
    if wrong_times:
        return  # energies cannot be judged with wrong times
    for uuid, accelerator in bundle.accelerators.items():
        parts = [part for part in bundle.scored_parts if part.accelerator == uuid]
        if parts:
            samples = bundle.scored_samples_of.get(uuid)
            yield from _check_power_and_energy(accelerator, parts, samples)


def _check_times(bundle: Bundle) -> Iterator[Violation]:
    interval_ns = bundle.protocol.sample_interval_ms * 1e6
    for uuid, samples in bundle.samples_of.items():
        intervals = np.diff(samples.ints("scheduled_ns")) / interval_ns
        # The median costs more than this test, which nearly every bundle passes.
        if len(intervals) < 2 or _have_same_magnitude(intervals, 1):
            continue
        if unit := _find_unit(float(np.median(intervals)), TIME_UNITS):
            observed = f"{uuid}: the intervals of samples fit scheduled_ns in {unit}"
            yield _violate(SAMPLES, observed, "nanoseconds", unit)
    if len(bundle.samples) and len(bundle.batches):
        latest_ns = float(bundle.samples.ints("read_ns").max())
        ratio = float(bundle.batches.ints("end_ns").max()) / latest_ns if latest_ns > 0 else 0.0
        if unit := _find_unit(ratio, TIME_UNITS):
            observed = f"the last batch ends at {ratio:.3g} of the time of the last sample"
            yield _violate(BATCHES, observed, "nanoseconds", unit)


def _check_power_and_energy(
    accelerator: Accelerator, parts: Sequence[Part], samples: Table | None
) -> Iterator[Violation]:
    """Units of one accelerator, from its parts in the scored epochs, at least one."""
    uuid = accelerator.uuid
    trapezoid_j = math.fsum(part.energy_j_trapezoid for part in parts)
    mean_power_w = trapezoid_j / math.fsum(part.active_s for part in parts)
    power_unit = _find_power_unit(accelerator.board, mean_power_w)
    if power_unit is not None:
        observed = f"{uuid}: {mean_power_w:.4g} W on average under load in power_mw"
        yield _violate(SAMPLES, observed, "milliwatts", power_unit)
    # On boards with averaged power only, power_mw is empty and there is nothing to compare.
    if not parts[0].averaged and samples:
        ratio = _compute_average_ratio(samples)
        unit = None if ratio is None else _find_unit(ratio, POWER_UNITS)
        if unit:
            observed = f"{uuid}: power_avg_mw is {ratio:.3g} times power_mw"
            yield _violate(SAMPLES, observed, "milliwatts", unit)
    counters_j = [part.energy_j_counter for part in parts if part.energy_j_counter is not None]
    # If the power has another unit, the ratio would blame the counter for it.
    if power_unit is None and len(counters_j) == len(parts) and trapezoid_j > 0:
        ratio = math.fsum(counters_j) / trapezoid_j
        if unit := _find_unit(ratio, ENERGY_UNITS):
            observed = f"{uuid}: energy_mj gives {ratio:.3g} of the energy of the power samples"
            yield _violate(SAMPLES, observed, "millijoules", unit)


def _find_power_unit(board: Board | None, mean_power_w: float) -> str | None:
    """The unit in which an implausible mean power would be plausible for the board."""
    if board is None or board.idle_power_w is None or board.max_power_w is None:
        return None
    # Up to twice the maximum, W106 is the better message: no unit gives such a small factor.
    if board.idle_power_w <= mean_power_w <= 2 * board.max_power_w:
        return None
    highest_w = board.max_power_w * (1 + TOLERANCE)
    for factor, unit in POWER_UNITS.items():
        if board.idle_power_w <= mean_power_w / factor <= highest_w:
            return unit
    return None


def _compute_average_ratio(samples: Table) -> float | None:
    """Averaged over instantaneous readings; 1 if they have the same magnitude, None if there is
    nothing to compare."""
    power_w, average_w = read_power_w(samples), read_average_power_w(samples)
    if _have_same_magnitude(power_w, average_w):
        return 1.0
    both = (power_w > 0) & (average_w > 0)
    return float(np.median(average_w[both] / power_w[both])) if both.any() else None


def _have_same_magnitude(values: Floats, references: Floats | int) -> bool:
    """Whether most values, shape (n,), are within a factor of ten of the references, so that the
    median of their ratio is not the factor of a unit."""
    close = (values < 10 * references) & (10 * values > references)
    return bool(2 * np.count_nonzero(close) > len(values))


def _find_unit(ratio: float, units: Mapping[float, str]) -> str | None:
    """The unit whose factor is close to the ratio."""
    for factor, unit in units.items():
        if abs(ratio / factor - 1) <= TOLERANCE:
            return unit
    return None


def _violate(file: str, observed: str, table_unit: str, unit: str) -> Violation:
    message = f"The numbers would fit in {unit}. Convert them where they are read, and run again."
    return Violation(file, "", observed, f"{table_unit}; these look like {unit}", message)
