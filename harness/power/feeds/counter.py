"""Energy counters of few bits, which begin again at zero."""

NEAR_END_SHARE = 0.1
"""A counter wraps from the last tenth of its range to the first. Any other fall is a reset, by an
operator or a restart, and stays in the readings."""


class CounterUnwrapper:
    """Makes counters of few bits rise for ever, feed by feed."""

    def __init__(self, bits: int) -> None:
        self._range = 1 << bits
        self._last: dict[str, int] = {}
        self._wraps: dict[str, int] = {}

    def unwrap(self, feed: str, count: int) -> int:
        """The count without the wraps since the first one of this feed."""
        last = self._last.get(feed, count)
        margin = NEAR_END_SHARE * self._range
        if count < margin and last >= self._range - margin:
            self._wraps[feed] = self._wraps.get(feed, 0) + 1
        self._last[feed] = count
        return count + self._wraps.get(feed, 0) * self._range
