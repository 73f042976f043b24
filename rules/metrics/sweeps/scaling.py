"""A run on several accelerators against a run on one."""

from dataclasses import dataclass

from rules.metrics.energy import MetricsError
from rules.metrics.figures import Estimate
from rules.metrics.sweeps.points import Point, get_cap_w
from rules.metrics.uncertainty.propagation import estimate_ratio_of_points


@dataclass(frozen=True)
class Scaling:
    """A run on several accelerators against the run on one. Perfect scaling has an efficiency of
    100 % and an energy ratio of 1."""

    accelerators: int
    speed_up: Estimate
    efficiency_percent: Estimate
    """Speed-up per accelerator."""
    energy_per_item_ratio: Estimate
    """J per item as a multiple of that on one accelerator."""


def compute_scaling(several: Point, accelerators: int, single: Point) -> Scaling:
    """A run on several accelerators against the run on one. Raises MetricsError if their caps
    differ."""
    if accelerators < 1:
        raise MetricsError(
            f"a run on {accelerators} accelerators cannot be; there must be at least one"
        )
    # At another cap the change of throughput would mix scaling with the effect of the cap.
    if several.cap_w != single.cap_w:
        raise MetricsError(
            f"the run on {accelerators} accelerators is at {get_cap_w(several):g} W and that on "
            f"one at {get_cap_w(single):g} W; "
            "scaling needs runs at the same cap"
        )
    spreads = several.spread, single.spread
    return Scaling(
        accelerators=accelerators,
        speed_up=estimate_ratio_of_points(
            several.items_per_s / single.items_per_s, spreads, energy=0, time=1
        ),
        efficiency_percent=estimate_ratio_of_points(
            100 * (several.items_per_s / single.items_per_s) / accelerators,
            spreads,
            energy=0,
            time=1,
        ),
        energy_per_item_ratio=estimate_ratio_of_points(
            several.joules_per_item / single.joules_per_item, spreads, energy=1, time=0
        ),
    )
