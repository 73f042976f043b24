"""The quantities of samples in the units that everything else computes with.

samples.csv.gz holds whole milliwatts and millijoules, as drivers give them. They become watts and
joules here and nowhere else.
"""

import numpy as np

from rules.bundle_format.table import Floats, Mask, Table


def read_power_w(samples: Table) -> Floats:
    """Instantaneous board power in W, shape (n,), NaN where there is no reading."""
    return samples.floats("power_mw") / 1e3


def read_average_power_w(samples: Table) -> Floats:
    """Power in W as the board averages it, shape (n,), NaN where there is no reading."""
    return samples.floats("power_avg_mw") / 1e3


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
