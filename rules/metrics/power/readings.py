"""The quantities of samples in the units that everything else computes with.

samples.csv.gz holds milliwatts and millijoules, as drivers give them. They become watts and joules
here and nowhere else.
"""

import numpy as np
from numpy.typing import NDArray

from rules.bundle_format.table import Floats, Mask, Table

LARGEST_MW = 2.0**53
"""The largest number that a table may hold."""

# What drivers return for "not available": all ones in 16 and 32 bits, taken for milliwatts and for
# watts.
_SENTINELS_W = (65.535, 65_535.0, 4_294_967.295, 4_294_967_295.0)


def read_power_w(samples: Table) -> Floats:
    """Instantaneous board power in W, shape (n,), NaN where there is no reading."""
    return samples.floats("power_mw") / 1e3


def read_average_power_w(samples: Table) -> Floats:
    """Power in W as the board averages it, shape (n,), NaN where there is no reading."""
    return samples.floats("power_avg_mw") / 1e3


POWER_READERS = (("power_mw", read_power_w), ("power_avg_mw", read_average_power_w))
"""The two power columns of samples.csv.gz, each with the function that reads it in W."""


def has_power(samples: Table) -> Mask:
    """Which samples have a power reading, instantaneous or averaged, shape (n,)."""
    return np.isfinite(samples.floats("power_mw")) | np.isfinite(samples.floats("power_avg_mw"))


def is_averaged(samples: Table) -> bool:
    """Whether none of the samples has an instantaneous power, so that the board's running average
    takes its place."""
    return bool(np.isnan(samples.floats("power_mw")).all())


def read_power_of_record_w(samples: Table) -> Floats:
    """Instantaneous power in W, or the board's running average where `is_averaged`; shape (n,), NaN
    where there is no reading."""
    return read_average_power_w(samples) if is_averaged(samples) else read_power_w(samples)


def read_counter_j(samples: Table) -> Floats:
    """The hardware energy counter in J, shape (n,), NaN where there is no reading."""
    return samples.floats("energy_mj") / 1e3


def are_sentinels(power_w: Floats) -> Mask:
    """Which powers, shape (n,), are no readings at all: a driver's mark for "not available", or
    negative."""
    sentinels: Mask = power_w < 0
    for sentinel_w in _SENTINELS_W:
        sentinels |= power_w == sentinel_w
    return sentinels


def to_whole_milliwatts(power_w: Floats) -> NDArray[np.int64]:
    """Finite powers, shape (n,), as the integers that drivers give, at most `LARGEST_MW`: for rules
    about the digits of readings."""
    # Rounded, because the division of mW by 1000 is not exact in binary.
    return np.round(power_w * 1e3).clip(-LARGEST_MW, LARGEST_MW).astype(np.int64)
