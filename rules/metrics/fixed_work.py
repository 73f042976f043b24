"""Time and energy of a fixed amount of work, as a run measured its rate and its J per item."""

from dataclasses import dataclass

from rules.metrics.figures import Estimate


@dataclass(frozen=True)
class FixedWork:
    """What a number of items takes."""

    seconds: float
    energy_j: Estimate

    @property
    def mean_power_w(self) -> float:
        return self.energy_j.mean / self.seconds


def compute_fixed_work(
    items: float, items_per_s: float, joules_per_item: Estimate, rest_w: float = 0.0
) -> FixedWork:
    """Time and energy of `items` items. `rest_w` is a constant power that J per item does not
    contain, such as that of the host; the interval is that of J per item."""
    seconds = items / items_per_s
    return FixedWork(seconds, joules_per_item.transform(items, rest_w * seconds))
