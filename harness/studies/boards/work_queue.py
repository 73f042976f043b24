"""The list of entries that the boards of a session share, and the budget that ends it."""

import threading
import time
from collections import deque
from collections.abc import Sequence

from harness.studies.plan import StudyEntry

RESERVE_SHARE = 1.25
"""An entry begins if the budget holds this many times the mean time of an entry."""


class WorkQueue:
    """The entries that are left, for the threads of all boards.

    `budget_s` is the time for the session from now on; None has no end. `first_estimate_s` is
    about the time of an entry while none has been measured, and `end_s` that of what follows the
    last entry.
    """

    def __init__(
        self,
        entries: Sequence[StudyEntry],
        budget_s: float | None,
        first_estimate_s: float,
        end_s: float,
    ) -> None:
        self._entries = deque(entries)
        self._lock = threading.Lock()
        self._start_s = time.monotonic()
        self._budget_s, self._end_s = budget_s, end_s
        self._first_estimate_s = first_estimate_s
        self._durations_s: list[float] = []

    def take(self) -> StudyEntry | None:
        """Take the next entry. None if there is none, or no time for one."""
        with self._lock:
            if not self._entries:
                return None
            if self._budget_s is not None:
                elapsed_s = time.monotonic() - self._start_s
                needed_s = RESERVE_SHARE * self.estimate_entry_s() + self._end_s
                if elapsed_s + needed_s > self._budget_s:
                    return None
            return self._entries.popleft()

    def add_duration(self, duration_s: float) -> None:
        """Take the time of a measured entry into account."""
        with self._lock:
            self._durations_s.append(duration_s)

    def estimate_entry_s(self) -> float:
        """The expected time of an entry."""
        if not self._durations_s:
            return self._first_estimate_s
        return sum(self._durations_s) / len(self._durations_s)

    def estimate_left_s(self, boards: int) -> float:
        """The expected time until the list is measured, or the budget spent."""
        left_s = len(self._entries) * self.estimate_entry_s() / boards
        if self._budget_s is None:
            return left_s
        return min(left_s, max(0.0, self._start_s + self._budget_s - time.monotonic()))
