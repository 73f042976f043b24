"""The load of the node's CPUs, which simulated boards follow while a run computes on the CPU."""

from pathlib import Path


class BusyShare:
    """The share of time, 0 to 1, that the node's CPUs were busy between two calls. It is 1 if
    /proc/stat is missing."""

    def __init__(self, stat: Path = Path("/proc/stat")) -> None:
        self._stat = stat
        self._last_ticks = self._read_ticks()
        self._share = 0.0

    def __call__(self) -> float:
        ticks = self._read_ticks()
        if ticks is None or self._last_ticks is None:
            return 1.0
        total_ticks = ticks[1] - self._last_ticks[1]
        if total_ticks >= 4:  # a tick is 10 ms; fewer ticks give too coarse a share
            self._share, self._last_ticks = (ticks[0] - self._last_ticks[0]) / total_ticks, ticks
        return self._share

    def _read_ticks(self) -> tuple[int, int] | None:
        try:
            fields = [int(f) for f in self._stat.read_text().split("\n", 1)[0].split()[1:9]]
        except (OSError, ValueError):
            return None
        idle_ticks = fields[3] + fields[4]
        return sum(fields) - idle_ticks, sum(fields)
