"""Sensors of simulated boards that refresh, average and delay their readings as declared.

The argument of a simulator declares them in ms: `h200,refresh=100,window=25,delay=10` refreshes
power every 100 ms with the mean of 25 ms that ended 10 ms before. The energy counter is refreshed
and delayed likewise; with `coverage=25` it adds up what the last 25 ms of each period draw, as if
they were all of it. Such a board also keeps its readings of 20 ms, as an H200 does.
"""

from bisect import bisect_left
from collections.abc import Mapping
from random import Random

SENSOR_SETTINGS: Mapping[str, float] = {
    "refresh": 100.0,
    "window": 25.0,
    "delay": 0.0,
    "coverage": 100.0,
}
"""Each setting of a sensor in ms, and its value if it is named without one."""
MS = 1_000_000
INSTANT_NS = MS // 10
"""The window of a sensor that does not average."""
BUFFER_INTERVAL_NS = 20 * MS
BUFFER_LENGTH = 119
KEPT_NS = 5_000 * MS
"""How much of the past a sensor remembers."""


class FilteredSensor:
    """The sensor of one simulated board, which has drawn `idle_w` until `start_ns`. Its power has
    noise of a standard deviation of `noise_share`."""

    def __init__(
        self,
        settings: Mapping[str, float],
        start_ns: int,
        energy_j: float,
        idle_w: float,
        noise_share: float,
    ) -> None:
        self._period_ns, window_ns, self._delay_ns = (
            round(settings.get(name, 0.0) * MS) for name in ("refresh", "window", "delay")
        )
        self._period_ns = self._period_ns or round(SENSOR_SETTINGS["refresh"] * MS)
        self._window_ns = max(window_ns, INSTANT_NS)
        coverage_ms = settings.get("coverage")
        self._coverage_ns = None if coverage_ms is None else round(coverage_ms * MS)
        # The energy of the board at rising times, linear between them.
        self._times_ns = [start_ns - KEPT_NS, start_ns]
        self._energies_j = [energy_j - idle_w * KEPT_NS / 1e9, energy_j]
        self._refreshed_ns = start_ns // self._period_ns * self._period_ns
        self._noise, self._noise_share = Random(), noise_share
        self.counter_j = energy_j
        self.power_w = idle_w

    def advance(self, now_ns: int, energy_j: float) -> None:
        """Remember the energy of the board at `now_ns`, and refresh the values that are due."""
        if now_ns > self._times_ns[-1]:
            self._times_ns.append(now_ns)
            self._energies_j.append(energy_j)
        while self._refreshed_ns + self._period_ns <= now_ns:
            self._refreshed_ns += self._period_ns
            self._refresh(self._refreshed_ns - self._delay_ns)
        if len(self._times_ns) > 2 and self._times_ns[1] < now_ns - 2 * KEPT_NS:
            first = bisect_left(self._times_ns, now_ns - KEPT_NS) - 1
            del self._times_ns[:first], self._energies_j[:first]

    def read_buffer(self, after_ns: int, now_ns: int) -> list[tuple[int, float]]:
        """The mean power in W of each interval of the buffer that ended after `after_ns`, with the
        time of its end."""
        last = now_ns // BUFFER_INTERVAL_NS
        ends_ns = [n * BUFFER_INTERVAL_NS for n in range(last - BUFFER_LENGTH + 1, last + 1)]
        return [
            (end_ns, self._compute_mean_w(end_ns, BUFFER_INTERVAL_NS))
            for end_ns in ends_ns
            if end_ns > after_ns
        ]

    def _refresh(self, end_ns: int) -> None:
        noise = self._noise.gauss(0, self._noise_share)
        self.power_w = self._compute_mean_w(end_ns, self._window_ns) * (1 + noise)
        if self._coverage_ns is None:
            self.counter_j = self._interpolate_j(end_ns)
        else:
            covered_w = self._compute_mean_w(end_ns, self._coverage_ns)
            self.counter_j += covered_w * self._period_ns / 1e9

    def _compute_mean_w(self, end_ns: int, window_ns: int) -> float:
        energy_j = self._interpolate_j(end_ns) - self._interpolate_j(end_ns - window_ns)
        return energy_j / (window_ns / 1e9)

    def _interpolate_j(self, time_ns: int) -> float:
        after = min(max(bisect_left(self._times_ns, time_ns), 1), len(self._times_ns) - 1)
        (start_ns, end_ns), (start_j, end_j) = (
            values[after - 1 : after + 1] for values in (self._times_ns, self._energies_j)
        )
        return start_j + (end_j - start_j) * (time_ns - start_ns) / (end_ns - start_ns)
