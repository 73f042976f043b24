"""All arithmetic on power, energy and throughput. Harness, checker and report call this and compute
nothing themselves.

What the readings of one accelerator give over intervals is in `rules/metrics/energy.py`.

Energy counts only while a batch is active: it is integrated over the union of an accelerator's
batch windows. Two ways are always computed: the trapezoid over power samples, with power
interpolated linearly at the window edges, and the difference of the hardware energy counter,
interpolated linearly at the same edges. Per item and per second:

    items/s per accelerator = items / sum of active seconds of all accelerators
    items/s                 = items/s per accelerator x number of accelerators
    J per item              = energy of record / items
    W per accelerator       = energy of record / sum of active seconds

Items are those of all ranks, each rank once; the accelerators of one rank share its windows and its
work. It follows that J per item x items/s per accelerator = W exactly in every epoch. Run figures
are means over the scored epochs.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from rules.boards import board
from rules.bundle_format.records import Json
from rules.bundle_format.table import Floats, Ints, Table
from rules.metrics.energy import (
    MetricsError as MetricsError,
)  # what it computes with may fail in the same way
from rules.metrics.energy import counter_energies, trace, trapezoid_energies
from rules.metrics.intervals import by_accelerator, by_epoch_and_rank, inside, p95, union
from rules.metrics.serving import serving
from rules.protocol import PROTOCOLS, Agreement, Protocol
from rules.workloads import Size, workloads

if TYPE_CHECKING:
    import pandas as pd

FIGURES = (
    "items_per_s_per_accelerator",
    "items_per_s",
    "joules_per_item",
    "items_per_joule",
    "mean_power_w_per_accelerator",
    "energy_j_counter",
    "energy_j_trapezoid",
    "mfu",
)
"""The headline figures, per scored epoch and, with n, sd and ci95, per run. Energies are sums over
accelerators, in J."""

# Two-sided 95 % quantiles of Student's t by degrees of freedom (any table of the distribution).
_T95 = (
    12.706,
    4.303,
    3.182,
    2.776,
    2.571,
    2.447,
    2.365,
    2.306,
    2.262,
    2.228,
    2.201,
    2.179,
    2.160,
    2.145,
    2.131,
)
_NORMAL95 = 1.960


def summary(values: Sequence[float]) -> Json:
    """Mean, n, standard deviation (n - 1) and the 95 % interval by Student's t of `values`; at
    least one value."""
    n = len(values)
    mean = math.fsum(values) / n
    if n == 1:
        return {"mean": mean, "n": 1, "sd": None, "ci95": None}
    sd = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (n - 1))
    half = (_T95[n - 2] if n - 1 <= len(_T95) else _NORMAL95) * sd / math.sqrt(n)
    return {"mean": mean, "n": n, "sd": sd, "ci95": [mean - half, mean + half]}


def agreement(protocol: Protocol, averaged: bool) -> Agreement:
    """How far counter and trapezoid may differ for a board with, or without, instantaneous power
    readings."""
    return protocol.averaged if averaged else protocol.instantaneous


def difference(counter_j: float, trapezoid_j: float) -> float:
    """Trapezoid against counter as a signed share of the counter's energy; infinite where the
    counter stood still."""
    return (trapezoid_j - counter_j) / counter_j if counter_j > 0 else math.inf


@dataclass(frozen=True)
class Part:
    """What one accelerator did in one epoch."""

    epoch: int
    rank: int
    accelerator: str
    items: int
    """Those of the rank: the parts of a rank with several accelerators share them."""
    active_s: float
    counter_j: float | None
    trapezoid_j: float
    averaged: bool
    sampled: Table
    """All samples of the accelerator."""
    rows: "slice | Ints"
    """Which of them lie inside the active windows of its rank."""

    @cached_property
    def samples(self) -> Table:
        """The samples inside the active windows."""
        return self.sampled.at(self.rows)

    @property
    def places(self) -> Ints:
        """The places of `samples` in the table of all samples."""
        return self.sampled.places[self.rows]

    def column(self, name: str) -> Floats:
        """A column of `samples` as float64, shape (n,), NaN for an empty cell."""
        return self.sampled.floats(name)[self.rows]


def parts(
    result: Json, samples: "Table | pd.DataFrame", batches: "Table | pd.DataFrame"
) -> list[Part]:
    """One part per epoch, rank and accelerator of the rank, in that order.

    Raises MetricsError where the evidence does not allow it.
    """
    batches = Table.of(batches)
    return parts_of(result, by_accelerator(Table.of(samples)), batches, by_epoch_and_rank(batches))


def parts_of(
    result: Json,
    sampled: Mapping[str, Table],
    batches: Table,
    batches_of: Mapping[tuple[int, int], Ints],
) -> list[Part]:
    """The same as `parts`, given the samples of each accelerator and the places of the batches of
    each epoch and rank (see `rules.metrics.intervals`)."""
    accelerators_of = {r["rank"]: r["accelerators"] for r in result["ranks"]}
    of_rank: dict[int, dict[int, Ints]] = {}
    for (epoch, rank), at in batches_of.items():
        if rank not in accelerators_of:
            raise MetricsError(f"rank {rank} has batches, but result.json does not list it")
        of_rank.setdefault(rank, {})[epoch] = at
    if not of_rank:
        raise MetricsError("there are no batches")
    found: list[Part] = []
    for rank, epochs in of_rank.items():
        for accelerator in accelerators_of[rank]:
            if accelerator not in sampled:
                raise MetricsError(
                    f"rank {rank} has batches, but its accelerator {accelerator} has no samples"
                )
            found += _parts_of_one(rank, accelerator, epochs, sampled[accelerator], batches)
    return sorted(found, key=lambda part: (part.epoch, part.rank))


def _parts_of_one(
    rank: int, accelerator: str, epochs: Mapping[int, Ints], sampled: Table, batches: Table
) -> Iterator[Part]:
    """The parts of one accelerator, given the places of its rank's batches in each epoch."""
    one = trace(sampled)
    starts, ends, opens = _windows(list(epochs.values()), batches, one.zero_ns)
    active = np.add.reduceat(ends - starts, opens)
    for epoch, active_s in zip(epochs, active, strict=True):
        if not active_s > 0:
            raise MetricsError(f"epoch {epoch} of rank {rank} has no active time")
    counter = counter_energies(one.counter_times_s, one.counter_j, starts, ends)
    counters_j = (
        [None] * len(opens) if counter is None else np.add.reduceat(counter, opens).tolist()
    )
    trapezoids_j = np.add.reduceat(
        trapezoid_energies(one.power_times_s, one.power_w, starts, ends), opens
    ).tolist()
    of_each = zip(
        epochs,
        active.tolist(),
        counters_j,
        trapezoids_j,
        _rows_inside(one.read_s, starts, ends, opens),
        strict=True,
    )
    for epoch, active_s, counter_j, trapezoid_j, rows in of_each:
        yield Part(
            epoch=epoch,
            rank=rank,
            accelerator=accelerator,
            items=int(batches.ints("items")[epochs[epoch]].sum()),
            active_s=active_s,
            counter_j=counter_j,
            trapezoid_j=trapezoid_j,
            averaged=one.averaged,
            sampled=sampled,
            rows=rows,
        )


def _windows(epochs: Sequence[Ints], batches: Table, zero_ns: int) -> tuple[Floats, Floats, Ints]:
    """Starts and ends in s since `zero_ns`, each of shape (m,), of when batches were active, one
    epoch after the other, given the places of the batches of each; and where among them each epoch
    begins."""
    every = np.concatenate(epochs)
    starts, ends = ((batches.ints(name)[every] - zero_ns) / 1e9 for name in ("start_ns", "end_ns"))
    opens = np.cumsum([0, *map(len, epochs)], dtype=np.int64)
    apart = starts[1:] > ends[:-1]
    apart[opens[1:-1] - 1] = True
    if apart.all() and bool((ends >= starts).all()):
        return starts, ends, opens[:-1]  # nothing to join, as in training
    joined = [union(starts[a:b], ends[a:b]) for a, b in pairwise(opens)]
    opens = np.cumsum([0, *(len(own) for own, _ in joined)], dtype=np.int64)[:-1]
    return (
        np.concatenate([own for own, _ in joined]),
        np.concatenate([own for _, own in joined]),
        opens,
    )


def _rows_inside(
    times: Floats, starts: Floats, ends: Floats, opens: Ints
) -> "Iterator[slice | Ints]":
    """For each epoch the places of the rising times that lie in its windows (see `_windows`); a
    slice, which copies nothing, where none is left out."""
    closes = np.append(opens[1:], len(starts))
    firsts, lasts = (
        np.searchsorted(times, starts[opens], side="left"),
        np.searchsorted(times, ends[closes - 1], side="right"),
    )
    in_order = bool((starts[1:] > ends[:-1]).all())
    within = inside(times, starts, ends) if in_order else np.empty(0, dtype=bool)
    for first, last, a, b in zip(
        firsts.tolist(), lasts.tolist(), opens.tolist(), closes.tolist(), strict=True
    ):
        own = within[first:last] if in_order else inside(times[first:last], starts[a:b], ends[a:b])
        yield slice(first, last) if own.all() else first + np.flatnonzero(own)


def counter_passes(scored: Sequence[Part], protocol: Protocol) -> bool:
    """The counter's self-test: present everywhere, advancing in every scored epoch, and in
    agreement over the run."""
    if any(p.counter_j is None or p.counter_j <= 0 for p in scored):
        return False
    counter = math.fsum(p.counter_j or 0.0 for p in scored)
    apart = difference(counter, math.fsum(p.trapezoid_j for p in scored))
    return abs(apart) <= agreement(protocol, any(p.averaged for p in scored)).run


def figures(
    result: Json,
    system: Json,
    every: Sequence[Part],
    requests: "Table | pd.DataFrame | None" = None,
) -> Json:
    """Everything computed from the parts of a run (see `parts`), in the form in which result.json
    states it.

    `requests` are those of a run that served; then there is also the key `serving` (see
    `rules.metrics.serving`).

    Keys: `epochs` (list), `headline` (each of `FIGURES` with mean, n, sd, ci95),
    `energy_of_record`, `observed` (per accelerator: mean power over the scored epochs in W, whether
    the declared cap was enforced). Raises MetricsError where the evidence does not allow it.
    """
    protocol = PROTOCOLS[result["protocol"]]
    scored = [p for p in every if p.epoch >= protocol.discarded_epochs]
    if not scored:
        raise MetricsError("there are no batches of scored epochs")
    by_counter = counter_passes(scored, protocol)
    peak = peak_flops(result, system)
    flops = _flops_per_item(result)
    epochs = [
        _epoch(
            [p for p in every if p.epoch == e],
            protocol,
            by_counter,
            flops / peak if flops and peak else None,
        )
        for e in sorted({p.epoch for p in every})
    ]
    of_run = {}
    for name in FIGURES:
        values = [e["figures"][name] for e in epochs if e["scored"]]
        of_run[name] = None if None in values else summary(values)
    found = {
        "epochs": epochs,
        "headline": of_run,
        "energy_of_record": "counter" if by_counter else "trapezoid",
        "observed": list(_observed(scored, by_counter, result["power"]["cap_w"], protocol)),
    }
    if requests is not None:
        active_s = {(p.epoch, p.rank): p.active_s for p in scored}
        requests = Table.of(requests)
        own = requests.at(np.isin(requests.ints("epoch"), list({epoch for epoch, _ in active_s})))
        if not len(own):
            raise MetricsError("no request ended in a scored epoch")
        found["serving"] = serving(own, active_s)
    return found


def _flops_per_item(result: Json) -> float | None:
    try:
        size = workloads()[result["workload"]].size(result["size"])
    except KeyError:
        raise MetricsError(
            f"the rule book has no {result['size']} size of a workload {result['workload']!r}"
        ) from None
    return size.flops_per_item if as_defined(result, size) else None


def as_defined(result: Json, size: Size) -> bool:
    """Whether FLOPs per item of the workload are those of this run: of other requests to a server
    they are not."""
    asked, own = result["settings"].get("requests"), size.request_set(0)
    return asked is None or (asked["prompt_tokens"], asked["output_tokens"]) == (
        own.prompt_tokens,
        own.output_tokens,
    )


def peak_flops(result: Json, system: Json) -> float | None:
    """The dense peak in FLOP/s of the slowest accelerator of all ranks at the precision of the run;
    None if one is unknown."""
    names = {a["uuid"]: a["name"] for node in system["nodes"] for a in node["accelerators"]}
    boards = [board(names.get(uuid, "")) for r in result["ranks"] for uuid in r["accelerators"]]
    peaks = [
        b.peak_tflops.get(result["implementation"]["precision"]) if b else None for b in boards
    ]
    known = [p for p in peaks if p is not None]
    return min(known) * 1e12 if known and len(known) == len(peaks) else None


def min_peak_share(
    items_per_s: float, size: Size, peak_tflops: float, as_defined: bool = True
) -> float:
    """The least share of a dense peak that a throughput per accelerator implies; above 1 it is
    impossible.

    Where requests to a server are not `as_defined`, their prompts may be as short as can be: an
    output token then takes what the definition's request takes for each of its tokens.
    """
    flops = size.min_flops_per_item or size.flops_per_item
    if not as_defined:
        own = size.request_set(0)
        flops *= own.output_tokens / (own.prompt_tokens + own.output_tokens)
    return items_per_s * flops / (peak_tflops * 1e12)


def energy_at_cap(items_per_s: float, cap_w: float) -> tuple[float, float]:
    """J/item and items/J of a throughput per accelerator that draws exactly its cap: assumed, not
    measured."""
    return cap_w / items_per_s, items_per_s / cap_w


def per_accelerator(items_per_s: float, accelerators: int) -> float:
    """A throughput in total as throughput per accelerator."""
    return items_per_s / accelerators


def _energy(part: Part, by_counter: bool) -> float:
    return part.counter_j if by_counter and part.counter_j is not None else part.trapezoid_j


def _epoch(
    own: Sequence[Part], protocol: Protocol, by_counter: bool, share_per_rate: float | None
) -> Json:
    items = sum({p.rank: p.items for p in own}.values())
    active = math.fsum(p.active_s for p in own)
    energy = math.fsum(_energy(p, by_counter) for p in own)
    counters = [p.counter_j for p in own if p.counter_j is not None]
    rate = items / active
    return {
        "epoch": own[0].epoch,
        "scored": own[0].epoch >= protocol.discarded_epochs,
        "items": items,
        "active_s": active / len(own),
        "figures": {
            "items_per_s_per_accelerator": rate,
            "items_per_s": rate * len(own),
            "joules_per_item": energy / items if items else None,
            "items_per_joule": items / energy if energy > 0 else None,
            "mean_power_w_per_accelerator": energy / active,
            "energy_j_counter": math.fsum(counters) if len(counters) == len(own) else None,
            "energy_j_trapezoid": math.fsum(p.trapezoid_j for p in own),
            "mfu": rate * share_per_rate if share_per_rate else None,
        },
        "accelerators": [_of_accelerator(p, by_counter) for p in own],
    }


def _of_accelerator(part: Part, by_counter: bool) -> Json:
    def read(column: str) -> Floats:
        values = part.column(column)
        return values[~np.isnan(values)] if part.sampled.has_gaps(column) else values

    def mean(column: str) -> float | None:
        values = read(column)
        return float(np.add.reduce(values)) / len(values) if len(values) else None

    power = read("power_avg_mw" if part.averaged else "power_mw") / 1e3

    return {
        "rank": part.rank,
        "accelerator": part.accelerator,
        "items": part.items,
        "active_s": part.active_s,
        "energy_j_counter": part.counter_j,
        "energy_j_trapezoid": part.trapezoid_j,
        "mean_power_w": _energy(part, by_counter) / part.active_s,
        "p95_power_w": p95(power) if len(power) else None,
        "max_power_w": float(power.max()) if len(power) else None,
        "mean_sm_mhz": mean("sm_mhz"),
        "mean_mem_mhz": mean("mem_mhz"),
    }


def _observed(
    scored: Sequence[Part], by_counter: bool, cap_w: float | None, protocol: Protocol
) -> Iterator[Json]:
    for accelerator in dict.fromkeys(p.accelerator for p in scored):
        own = [p for p in scored if p.accelerator == accelerator]
        mean = math.fsum(_energy(p, by_counter) for p in own) / math.fsum(p.active_s for p in own)
        yield {
            "accelerator": accelerator,
            "mean_power_w": mean,
            "cap_enforced": None if cap_w is None else mean <= cap_w * protocol.cap_tolerance,
        }


def rate(items: float, seconds: float) -> float:
    """Items per second, for showing progress; 0 where no time has passed."""
    return items / seconds if seconds > 0 else 0.0
