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
        self._starts_s: dict[StudyEntry, float] = {}
        """When the entries in work began."""

    def take(self) -> StudyEntry | None:
        """Take the next entry. None if there is none, or no time for one."""
        with self._lock:
            if not self._entries:
                return None
            if self._budget_s is not None:
                elapsed_s = time.monotonic() - self._start_s
                if not fits_budget(elapsed_s, self._budget_s, self.estimate_entry_s(), self._end_s):
                    return None
            entry = self._entries.popleft()
            self._starts_s[entry] = time.monotonic()
            return entry

    def finish(self, entry: StudyEntry, duration_s: float) -> None:
        """Take the time of a measured entry into account."""
        with self._lock:
            del self._starts_s[entry]
            self._durations_s.append(duration_s)

    def estimate_entry_s(self) -> float:
        """The expected time of an entry."""
        if not self._durations_s:
            return self._first_estimate_s
        return sum(self._durations_s) / len(self._durations_s)

    def estimate_left_s(self, boards: int) -> float | None:
        """The expected time until the list is measured, or the budget spent and all boards done.
        None if no entry is left or in work."""
        with self._lock:
            now_s, entry_s = time.monotonic(), self.estimate_entry_s()
            in_work_s = [max(0.0, start_s + entry_s - now_s) for start_s in self._starts_s.values()]
            if not in_work_s and not self._entries:
                return None
            longest_s = max(in_work_s, default=0.0)
            total_s = len(self._entries) * entry_s + sum(in_work_s)
            left_s = max(longest_s, total_s / boards)
            if self._budget_s is None:
                return left_s
            return min(left_s, max(longest_s, self._start_s + self._budget_s - now_s))


def fits_budget(elapsed_s: float, budget_s: float, entry_s: float, end_s: float) -> bool:
    """Whether an entry may begin after `elapsed_s` of a session. `entry_s` is the expected time of
    an entry, `end_s` that of what follows the last one."""
    return elapsed_s + RESERVE_SHARE * entry_s + end_s <= budget_s


def count_within_budget(
    entries: int, budget_s: float, start_s: float, entry_s: float, end_s: float, boards: int
) -> int:
    """About how many of the entries the boards of a session begin within a budget. `start_s` is the
    time before the first entry."""
    count = 0
    while count < entries and fits_budget(
        start_s + count // boards * entry_s, budget_s, entry_s, end_s
    ):
        count += 1
    return count
