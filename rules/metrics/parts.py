"""What each accelerator did in each epoch: active time, items and energies over its batch windows.

Energy counts only while a batch is active: it is integrated over the union of an accelerator's
batch windows. Two ways are always computed: the trapezoid over power samples, with power
interpolated linearly at the window edges, and the difference of the hardware energy counter,
interpolated linearly at the same edges.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from rules import RELEASED, VERSION
from rules.bundle_format.records import Json
from rules.bundle_format.table import Floats, Ints, Table
from rules.declarations.run import Rank, RunDeclaration
from rules.metrics.energy import (
    MetricsError,
    Trace,
    build_trace,
    counter_energies,
    trapezoid_energies,
)
from rules.metrics.intervals import (
    are_inside,
    group_by_accelerator,
    group_by_epoch_and_rank,
    join_intervals,
)

BOOKS_BETWEEN_READS = RELEASED[: RELEASED.index("1.8.0")]
"""The rule books that interpolate the counter between its reads, and not between its changes."""
BOOK_OF_LATE_READS = "1.8.0"
"""The rule book that takes late reads of the counter for reads on time."""


@dataclass(frozen=True)
class Part:
    """What one accelerator did in one epoch."""

    epoch: int
    rank: int
    accelerator: str
    """Its UUID."""
    items: int
    """Those of the rank: the parts of a rank with several accelerators share them."""
    active_s: float
    energy_j_counter: float | None
    """None where the accelerator has no counter."""
    energy_j_trapezoid: float
    trace: Trace
    """All readings of the accelerator."""
    rows: "slice | Ints"
    """Which samples of the accelerator lie inside the active windows of its rank."""

    @property
    def averaged(self) -> bool:
        """Whether the power is the board's own running average."""
        return self.trace.averaged

    @property
    def sampled(self) -> Table:
        """All samples of the accelerator."""
        return self.trace.samples

    @cached_property
    def samples(self) -> Table:
        """The samples inside the active windows."""
        return self.sampled.at(self.rows)

    @property
    def places(self) -> Ints:
        """The places of `samples` in the table of all samples."""
        return self.sampled.places[self.rows]

    @property
    def power_w(self) -> Floats:
        """The power of `samples`, shape (n,), NaN where the reading failed."""
        return self.trace.power_w[self.rows]

    @property
    def sampling_error_j(self) -> float:
        """Standard error of `energy_j_trapezoid` in J because power varies between samples: the
        error of the mean of independent readings. Zero for averages, which leave out nothing, and
        without a counter."""
        power_w = self.power_w[np.isfinite(self.power_w)]
        if self.averaged or self.energy_j_counter is None or len(power_w) < 2:
            return 0.0
        # At most the mean power: the power of a board does not vary by more, but a value that marks
        # a failed read does.
        deviation_j = min(self.active_s * float(power_w.std(ddof=1)), self.energy_j_counter)
        return deviation_j / math.sqrt(len(power_w))

    def column(self, name: str) -> Floats:
        """A column of `samples` as float64, shape (n,), NaN for an empty cell."""
        return self.sampled.floats(name)[self.rows]


def split_into_parts(result: Json, samples: Table, batches: Table) -> list[Part]:
    """One part per epoch, rank and accelerator of the rank, in that order, by the rule book that
    the result names.

    Raises MetricsError where the evidence does not allow it.
    """
    run = RunDeclaration.from_document(result)
    groups = group_by_accelerator(samples), batches, group_by_epoch_and_rank(batches)
    return parts_of_groups(run.ranks, *groups, run.rules_version)


def parts_of_groups(
    ranks: Sequence[Rank],
    samples_by_accelerator: Mapping[str, Table],
    batches: Table,
    batches_by_epoch_and_rank: Mapping[tuple[int, int], Ints],
    rules_version: str = VERSION,
) -> list[Part]:
    """The same as `split_into_parts`, given the samples of each accelerator and the places of the
    batches of each epoch and rank (see `rules.metrics.intervals`), with the arithmetic of a rule
    book."""
    arithmetic = rules_version not in BOOKS_BETWEEN_READS, rules_version == BOOK_OF_LATE_READS
    accelerators_by_rank = {rank.rank: rank.accelerators for rank in ranks}
    epochs_by_rank: dict[int, dict[int, Ints]] = {}
    for (epoch, rank), places in batches_by_epoch_and_rank.items():
        if rank not in accelerators_by_rank:
            raise MetricsError(f"rank {rank} has batches, but result.json does not list it")
        epochs_by_rank.setdefault(rank, {})[epoch] = places
    if not epochs_by_rank:
        raise MetricsError("there are no batches")
    parts: list[Part] = []
    for rank, epochs in epochs_by_rank.items():
        for accelerator in accelerators_by_rank[rank]:
            if accelerator not in samples_by_accelerator:
                raise MetricsError(
                    f"rank {rank} has batches, but its accelerator {accelerator} has no samples"
                )
            # Once per accelerator and not per epoch: the trace is the same for all epochs.
            trace = build_trace(samples_by_accelerator[accelerator], *arithmetic)
            parts += _parts_of_accelerator(rank, accelerator, trace, epochs, batches)
    # A stable sort: the accelerators of a rank stay in the order of result.json.
    return sorted(parts, key=lambda part: (part.epoch, part.rank))


def _parts_of_accelerator(
    rank: int, accelerator: str, trace: Trace, epochs: Mapping[int, Ints], batches: Table
) -> Iterator[Part]:
    """The parts of one accelerator, given the places of its rank's batches in each epoch."""
    starts, ends, firsts = _active_windows(list(epochs.values()), batches, trace.zero_ns)
    # `reduceat` sums the windows of each epoch in one call.
    active_times_s = np.add.reduceat(ends - starts, firsts)
    for epoch, active_s in zip(epochs, active_times_s, strict=True):
        # Throughput and power divide by the active time. `not >` also refuses NaN.
        if not active_s > 0:
            raise MetricsError(f"epoch {epoch} of rank {rank} has no active time")
    by_counter = counter_energies(trace.counter_times_s, trace.counter_j, starts, ends)
    by_trapezoid = trapezoid_energies(
        trace.usable_power_times_s, trace.usable_power_w, starts, ends
    )
    by_epoch = zip(
        epochs,
        active_times_s.tolist(),
        [None] * len(firsts)
        if by_counter is None
        else np.add.reduceat(by_counter, firsts).tolist(),
        np.add.reduceat(by_trapezoid, firsts).tolist(),
        _rows_inside(trace.read_s, starts, ends, firsts),
        strict=True,
    )
    for epoch, active_s, energy_j_counter, energy_j_trapezoid, rows in by_epoch:
        yield Part(
            epoch=epoch,
            rank=rank,
            accelerator=accelerator,
            items=int(batches.ints("items")[epochs[epoch]].sum()),
            active_s=active_s,
            energy_j_counter=energy_j_counter,
            energy_j_trapezoid=energy_j_trapezoid,
            trace=trace,
            rows=rows,
        )


def _active_windows(
    epochs: Sequence[Ints], batches: Table, zero_ns: int
) -> tuple[Floats, Floats, Ints]:
    """When batches were active, one epoch after the other, given the places of the batches of each.

    Returns starts and ends in s since `zero_ns`, each of shape (m,), and the number of the first
    window of each epoch among them.
    """
    places = np.concatenate(epochs)
    # Subtract while the times are integers: a double does not hold the ns of a long uptime exactly.
    starts, ends = ((batches.ints(name)[places] - zero_ns) / 1e9 for name in ("start_ns", "end_ns"))
    firsts = np.cumsum([0, *map(len, epochs)], dtype=np.int64)
    if bool((starts[1:] > ends[:-1]).all() and (ends >= starts).all()):
        # The batches of training do not overlap, so there is nothing to join.
        return starts, ends, firsts[:-1]
    # Requests of a server overlap. Their energy must count once.
    joined = [join_intervals(starts[a:b], ends[a:b]) for a, b in pairwise(firsts)]
    firsts = np.cumsum([0, *(len(starts) for starts, _ in joined)], dtype=np.int64)[:-1]
    return (
        np.concatenate([starts for starts, _ in joined]),
        np.concatenate([ends for _, ends in joined]),
        firsts,
    )


def _rows_inside(
    times_s: Floats, starts: Floats, ends: Floats, firsts: Ints
) -> "Iterator[slice | Ints]":
    """For each epoch the places of the rising times that lie in its windows (see
    `_active_windows`); a slice, which copies nothing, where none is left out."""
    stops = np.append(firsts[1:], len(starts))
    first_rows = np.searchsorted(times_s, starts[firsts], side="left")
    stop_rows = np.searchsorted(times_s, ends[stops - 1], side="right")
    # One search over all windows is several times faster than one for each epoch. It is correct
    # only if no window begins before the previous one has ended.
    in_order = bool((starts[1:] > ends[:-1]).all())
    inside = are_inside(times_s, starts, ends) if in_order else np.empty(0, dtype=bool)
    for first_row, stop_row, first, stop in zip(
        first_rows.tolist(), stop_rows.tolist(), firsts.tolist(), stops.tolist(), strict=True
    ):
        within = (
            inside[first_row:stop_row]
            if in_order
            else are_inside(times_s[first_row:stop_row], starts[first:stop], ends[first:stop])
        )
        yield slice(first_row, stop_row) if within.all() else first_row + np.flatnonzero(within)
