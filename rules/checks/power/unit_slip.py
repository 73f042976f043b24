"""Readings in another unit than the table's

## What it does
Looks, over the scored epochs of each accelerator, for the factors that a wrong unit leaves: 10³ and
10⁶ either way, and 3 600 for watt-hours. It compares the mean power with what the board can draw,
the averaged readings with the instantaneous ones, the energy counter with the trapezoid over the
power samples, the distance of the samples with the sampling interval, and the time of the last
batch with that of the last sample. It says which unit the numbers would be right in.

Other rules speak as well, of power above the board or energies that disagree; this one tells the
reason.

## Why it is bad
A slip by a thousand in power or time goes straight into joules per item and items per second. It is
the commonest mistake in power logs, because libraries give watts, milliwatts, microwatts and counts
side by side.

## What to do
Look up the unit of the quantity in the library's reference, convert it where it is read, and run
again.

## Source
Bundle format: powers are milliwatts, energies millijoules, times nanoseconds. NVML and AMD SMI
references: NVML gives milliwatts and millijoules; AMD SMI gives watts, microwatts for caps, and a
count times a resolution in microjoules for energy.
"""

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.table import BATCHES, SAMPLES, Floats, Table
from rules.declarations import Accelerator
from rules.finding import Severity, Violation
from rules.metrics.parts import Part
from rules.metrics.readings import read_average_power_w, read_power_w
from rules.rule import BundleRule

RULE = BundleRule(__name__, "W113", Severity.ERROR, added="1.3.0")


# How many times too large a number is in each unit that is taken for the table's own.
POWER = {1e-6: "kilowatts", 1e-3: "watts", 1e3: "microwatts", 1e6: "nanowatts"}
ENERGY = {
    1e-6: "kilojoules",
    1e-3: "joules",
    1e3: "microjoules",
    1e6: "nanojoules",
    1 / 3600: "milliwatt-hours",
    1 / 3.6e6: "watt-hours",
}
TIME = {1e-9: "seconds", 1e-6: "milliseconds", 1e-3: "microseconds", 1e3: "picoseconds"}
NEAR = 0.1
"""How far a ratio may be from a factor and still be taken for it, as a share: boards and meters
differ by less."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    slow = list(_times(bundle))
    yield from slow
    if slow:
        return  # with the times wrong, nothing can be said of energies
    for uuid, accelerator in bundle.accelerators.items():
        own = [p for p in bundle.scored_parts if p.accelerator == uuid]
        if own:
            yield from _power_and_energy(uuid, accelerator, own, bundle.scored_samples_of.get(uuid))


def _times(bundle: Bundle) -> Iterator[Violation]:
    interval_ns = bundle.protocol.sample_interval_ms * 1e6
    for uuid, samples in bundle.samples_of.items():
        intervals = np.diff(samples.ints("scheduled_ns")) / interval_ns
        if (
            len(intervals) > 1
            and not _alike(intervals, 1)
            and (unit := _unit(float(np.median(intervals)), TIME))
        ):
            yield _found(
                SAMPLES,
                f"{uuid}: samples as far apart as if scheduled_ns were {unit}",
                "nanoseconds",
                unit,
            )
    if len(bundle.samples) and len(bundle.batches):
        latest_ns = float(bundle.samples.ints("read_ns").max())
        ratio = float(bundle.batches.ints("end_ns").max()) / latest_ns if latest_ns > 0 else 0.0
        if unit := _unit(ratio, TIME):
            yield _found(
                BATCHES,
                f"the last batch ends at {ratio:.3g} of the time of the last sample",
                "nanoseconds",
                unit,
            )


def _power_and_energy(
    uuid: str, accelerator: Accelerator, own: Sequence[Part], samples: Table | None
) -> Iterator[Violation]:
    trapezoid_j = math.fsum(p.energy_j_trapezoid for p in own)
    mean_w = trapezoid_j / math.fsum(p.active_s for p in own)
    known = accelerator.board
    unit = None
    if known is not None and not known.idle_power_w <= mean_w <= 2 * known.max_power_w:
        unit = next(
            (
                u
                for f, u in POWER.items()
                if known.idle_power_w <= mean_w / f <= known.max_power_w * (1 + NEAR)
            ),
            None,
        )
    if unit is not None:
        yield _found(
            SAMPLES, f"{uuid}: {mean_w:.4g} W on average under load in power_mw", "milliwatts", unit
        )
    if (
        not own[0].averaged
        and samples
        and (ratio := _average_ratio(samples)) is not None
        and (other := _unit(ratio, POWER))
    ):
        yield _found(
            SAMPLES, f"{uuid}: power_avg_mw is {ratio:.3g} times power_mw", "milliwatts", other
        )
    counters_j = [p.energy_j_counter for p in own if p.energy_j_counter is not None]
    if unit is None and len(counters_j) == len(own) and trapezoid_j > 0:
        ratio = math.fsum(counters_j) / trapezoid_j
        if other := _unit(ratio, ENERGY):
            yield _found(
                SAMPLES,
                f"{uuid}: energy_mj gives {ratio:.3g} of the energy of the power samples",
                "millijoules",
                other,
            )


def _average_ratio(samples: Table) -> float | None:
    """The averaged readings against the instantaneous ones, 1 for about as large, None where there
    are none to compare."""
    power_w, average_w = read_power_w(samples), read_average_power_w(samples)
    if _alike(power_w, average_w):
        return 1.0
    both = (power_w > 0) & (average_w > 0)
    return float(np.median(average_w[both] / power_w[both])) if both.any() else None


def _alike(some: Floats, others: Floats | int) -> bool:
    """Whether most of `some`, shape (n,), are of the magnitude of `others`, so that the median of
    their ratio is no unit's."""
    return bool(2 * np.count_nonzero((some < 10 * others) & (10 * some > others)) > len(some))


def _unit(ratio: float, units: Mapping[float, str]) -> str | None:
    """The unit whose factor the ratio is near to."""
    return next((unit for factor, unit in units.items() if abs(ratio / factor - 1) <= NEAR), None)


def _found(file: str, found: str, expected: str, unit: str) -> Violation:
    message = f"The numbers would fit in {unit}. Convert them where they are read, and run again."
    return Violation(file, "", found, f"{expected}; these look like {unit}", message)
