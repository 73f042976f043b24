"""What is known of the systematic error of an energy per item.

The intervals of a figure hold random differences only. Two sources of one board that disagree show
a part of the error of its sensor, and an error that both share does not show at all.
"""

from rules.metrics.figures import Headline

SENSOR_ACCURACY = (
    "NVML documents an accuracy of 5 % for Fermi and Kepler and none for later boards: the error "
    "that counter and readings share is unknown without an external meter"
)
"""Source: NVML API reference, nvmlDeviceGetPowerUsage."""


def compute_sensor_term(headline: Headline) -> float | None:
    """The difference between the energies by power readings and by counter over a run, as a share
    of the latter. None without a counter, or if it stands still."""
    if headline.energy_j_counter is None or not headline.energy_j_counter.mean > 0:
        return None
    counter_j = headline.energy_j_counter.mean
    return abs(headline.energy_j_trapezoid.mean - counter_j) / counter_j
