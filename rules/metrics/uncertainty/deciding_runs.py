"""How many runs would tell two settings apart."""

import math

from rules.metrics.figures import Estimate

MOST_RUNS = 100
"""Settings that more runs than this would tell apart are equal in practice."""


def count_deciding_runs(difference: Estimate, runs: int) -> int | None:
    """How many runs of each of two settings would tell them apart, if their difference is as it
    was measured with `runs` of each. None where it has no interval, or where `MOST_RUNS` would not.

    The half-width of an interval falls with the square root of the number of runs. More degrees of
    freedom narrow it further, so this number is cautious.
    """
    if difference.ci95 is None or difference.mean == 0:
        return None
    # An interval that ends at zero does not exclude it, so the number is above this ratio.
    needed = math.floor(runs * (difference.half_width / difference.mean) ** 2) + 1
    return max(needed, runs + 1) if needed <= MOST_RUNS else None
