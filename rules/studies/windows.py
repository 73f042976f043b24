"""The windows of a study on one board in one session, with the samples that lie in each."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rules.bundle_format.table import Floats, Ints, Mask, Table
from rules.declarations.system import Accelerator
from rules.metrics.power.readings import has_power
from rules.protocol import CURRENT
from rules.studies.declaration import Session
from rules.studies.metrics.ladder_energy import measure_energies, read_each_power_w

INTERVAL_NS = CURRENT.sample_interval_ms * 1_000_000


@dataclass(frozen=True)
class BoardWindows:
    """The k points with the outcome `ok` of one board in one session, sorted by start, and the n
    samples of the board in that session."""

    session: Session
    accelerator: Accelerator
    rows: Ints
    """Number of each point in points.csv.gz, from 0, shape (k,)."""
    starts_ns: Ints
    ends_ns: Ints
    samples: Table

    @property
    def name(self) -> str:
        """The board for messages."""
        return f"{self.accelerator.uuid} in session {self.session.session}"

    @cached_property
    def read_ns(self) -> Ints:
        return self.samples.ints("read_ns")

    @cached_property
    def power_w(self) -> Floats:
        """Power of the samples: the average of the board where there is no instantaneous reading;
        shape (n,), NaN without any."""
        return read_each_power_w(self.samples)

    @cached_property
    def mean_power_w(self) -> Floats:
        """Mean of the power samples in each window, shape (k,): of the samples around the window if
        none lies inside. NaN without any."""
        means = self._average(*self._places)
        around = self._average(*self._find_places(INTERVAL_NS))
        return np.where(np.isnan(means), around, means)

    @cached_property
    def ladder_energy_j(self) -> Floats:
        """Energy of each window as the harness computed it while it climbed a ladder, shape (k,),
        NaN without a reading."""
        if self.session.study_method.climbs_by_counter:
            return measure_energies(self.samples, self.starts_ns, self.ends_ns)
        return self.mean_power_w * ((self.ends_ns - self.starts_ns) / 1e9)

    @cached_property
    def inside(self) -> Mask:
        """Which samples lie in a window, shape (n,)."""
        firsts, lasts = self._places
        changes = np.zeros(len(self.samples) + 1, dtype=np.int64)
        np.add.at(changes, firsts, 1)
        np.add.at(changes, lasts, -1)
        inside: Mask = np.cumsum(changes)[:-1] > 0
        return inside

    def count(self, selected: Mask) -> Ints:
        """How many of the selected samples, shape (n,), lie in each window, shape (k,)."""
        firsts, lasts = self._places
        total = np.concatenate(([0], np.cumsum(selected)))
        return total[lasts] - total[firsts]

    def select(self, window: int) -> slice:
        """The samples in a window, by its number in `rows`."""
        firsts, lasts = self._places
        return slice(int(firsts[window]), int(lasts[window]))

    def longest_gaps_ms(self) -> Floats:
        """The longest time without a power reading that reaches into each window, shape (k,).
        Infinite for a window that the readings do not surround."""
        read_ns = self.read_ns[has_power(self.samples)]
        if len(read_ns) < 2:
            return np.full(len(self.rows), np.inf)
        gaps_ms = np.diff(read_ns) / 1e6
        # Each window has the intervals from the reading before it to the reading after it.
        firsts = np.searchsorted(read_ns, self.starts_ns, side="right") - 1
        lasts = np.searchsorted(read_ns, self.ends_ns, side="left")
        # Without samples in the order of time, the interval may be empty.
        is_surrounded = (firsts >= 0) & (lasts < len(read_ns)) & (firsts < lasts)
        longest = np.full(len(self.rows), np.inf)
        for window in np.flatnonzero(is_surrounded):
            longest[window] = gaps_ms[firsts[window] : lasts[window]].max()
        return longest

    @cached_property
    def _places(self) -> tuple[Ints, Ints]:
        return self._find_places(0)

    def _find_places(self, margin_ns: int) -> tuple[Ints, Ints]:
        """Places of the first sample of each window and of the first one after it."""
        return (
            np.searchsorted(self.read_ns, self.starts_ns - margin_ns, side="left"),
            np.searchsorted(self.read_ns, self.ends_ns + margin_ns, side="right"),
        )

    def _average(self, firsts: Ints, lasts: Ints) -> Floats:
        finite = np.isfinite(self.power_w)
        sums_w = np.concatenate(([0.0], np.cumsum(np.where(finite, self.power_w, 0.0))))
        counts = np.concatenate(([0], np.cumsum(finite)))
        count = counts[lasts] - counts[firsts]
        with np.errstate(invalid="ignore", divide="ignore"):
            means: Floats = (sums_w[lasts] - sums_w[firsts]) / np.where(count > 0, count, np.nan)
        return means
