"""The energy of a window, by which the harness climbs a ladder and chooses the long windows.

The harness computes it from the readings of one window while it measures. The rules compute it
again from all samples. Only the readings in a window and the two next to it count, so both get the
same energy. A change of this arithmetic needs a new method (`rules.protocol.STUDY_METHODS`).
"""

import numpy as np

from rules.bundle_format.table import Floats, Ints, Table
from rules.metrics.power.readings import read_average_power_w, read_counter_j, read_power_w


def measure_energies(samples: Table, starts_ns: Ints, ends_ns: Ints) -> Floats:
    """Energy in J of m windows of a board by method 1.1, shape (m,), NaN without a reading.

    `samples` are those of the board in the order of time, starts and ends have shape (m,). The
    energy is that of the counter, interpolated between the readings before and after each edge.
    Where one of these lacks, or the counter does not advance, it is the mean of the power samples
    in the window times its length; of the two samples next to the window if none lies inside.
    """
    read_ns = samples.ints("read_ns")
    if not len(read_ns):
        return np.full(len(starts_ns), np.nan)
    counter_j = read_counter_j(samples)
    energies_j = _interpolate(read_ns, counter_j, ends_ns) - _interpolate(
        read_ns, counter_j, starts_ns
    )
    power_w = read_each_power_w(samples)
    for window in np.flatnonzero(~(energies_j > 0)):
        start_ns, end_ns = starts_ns[window], ends_ns[window]
        energies_j[window] = _mean_power_w(read_ns, power_w, start_ns, end_ns) * (
            (end_ns - start_ns) / 1e9
        )
    return energies_j


def read_each_power_w(samples: Table) -> Floats:
    """Power of each sample in W, shape (n,): the average of the board where there is no
    instantaneous reading, NaN without any."""
    power_w = read_power_w(samples)
    return np.where(np.isnan(power_w), read_average_power_w(samples), power_w)


def _interpolate(read_ns: Ints, counter_j: Floats, times_ns: Ints) -> Floats:
    """The counter in J at each time, NaN where the reading before or after it lacks."""
    befores = np.searchsorted(read_ns, times_ns, side="right") - 1
    afters = np.searchsorted(read_ns, times_ns, side="left")
    is_surrounded = (befores >= 0) & (afters < len(read_ns))
    befores, afters = np.maximum(befores, 0), np.minimum(afters, len(read_ns) - 1)
    # Both are the same reading where it was taken at this very time.
    spans_ns = np.maximum(read_ns[afters] - read_ns[befores], 1)
    shares = (times_ns - read_ns[befores]) / spans_ns
    values_j = counter_j[befores] + shares * (counter_j[afters] - counter_j[befores])
    return np.where(is_surrounded, values_j, np.nan)


def _mean_power_w(read_ns: Ints, power_w: Floats, start_ns: int, end_ns: int) -> float:
    first = int(np.searchsorted(read_ns, start_ns, side="left"))
    last = int(np.searchsorted(read_ns, end_ns, side="right"))
    for powers_w in (power_w[first:last], power_w[max(first - 1, 0) : last + 1]):
        if np.isfinite(powers_w).any():
            return float(np.nanmean(powers_w))
    return np.nan
