"""The load of a board that a series of pulses makes, and its integral."""

import math
from typing import cast

import numpy as np

from rules.bundle_format.table import Floats


class LoadWave:
    """The load of a board that computes in pulses: 0 without and 1 with load.

    `starts_s` and `ends_s` are those of the pulses, both of shape (p,) with p >= 1, rising and
    without overlap. The load approaches its levels exponentially, with the time constant `rise_s`;
    0 for steps.
    """

    def __init__(self, starts_s: Floats, ends_s: Floats, rise_s: float) -> None:
        self._edges_s = np.stack((starts_s, ends_s), axis=1).ravel()
        self._levels = np.tile([1.0, 0.0], len(starts_s))
        self._rise_s = rise_s
        steps_s = np.diff(self._edges_s)
        self._pulses_s = np.concatenate(([0.0], np.cumsum(steps_s * self._levels[:-1])))
        self._loads = _follow(steps_s, self._levels, rise_s)

    def integrate(self, times_s: Floats) -> Floats:
        """The integral of the load from -infinity to each of n times, in s, shape (n,)."""
        edge = np.maximum(np.searchsorted(self._edges_s, times_s, side="right") - 1, 0)
        since_s = np.maximum(times_s - self._edges_s[edge], 0.0)
        level = self._levels[edge]
        integral_s = self._pulses_s[edge] + level * since_s
        if self._rise_s:
            # The load y follows the steps u by rise_s y' = u - y, so its integral is that of u less
            # rise_s y.
            decay = np.exp(-since_s / self._rise_s)
            integral_s -= self._rise_s * (level + (self._loads[edge] - level) * decay)
        return cast(Floats, integral_s)

    def compute_means(self, starts_s: Floats, ends_s: Floats) -> Floats:
        """The mean load over each of n intervals of more than 0 s, shape (n,)."""
        shares_s = self.integrate(ends_s) - self.integrate(starts_s)
        return shares_s / (ends_s - starts_s)


def _follow(steps_s: Floats, levels: Floats, rise_s: float) -> Floats:
    """The load at each of e edges, shape (e,), given the e - 1 times between them and the level
    after each edge."""
    load, loads = 0.0, [0.0]
    for step_s, level in zip(steps_s.tolist(), levels[:-1].tolist(), strict=True):
        load = level + (load - level) * math.exp(-step_s / rise_s) if rise_s else level
        loads.append(load)
    return np.array(loads)
