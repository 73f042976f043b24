"""The figures of one run. Harness, checker and report call this and compute nothing themselves.

`rules.metrics.parts` integrates the energy of each accelerator in each epoch. Per item and per
second:

    items/s per accelerator = items / sum of active seconds of all accelerators
    items/s                 = items/s per accelerator x number of accelerators
    J per item              = energy of record / items
    W per accelerator       = energy of record / sum of active seconds

Items are those of all ranks, each rank once; the accelerators of one rank share its windows and its
work. It follows that J per item x items/s per accelerator = W in every epoch.
`rules.metrics.headline` computes the same ratios for the run, over all scored epochs.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from statistics import fmean
from typing import TypeVar

import numpy as np

from rules import RELEASED, VERSION
from rules.bundle_format.table import Floats, Table
from rules.contract import RequestSet
from rules.declarations.run import RunDeclaration
from rules.declarations.system import SystemDeclaration
from rules.metrics.energy import MetricsError as MetricsError
from rules.metrics.figures import (
    AcceleratorFigures,
    EpochFigures,
    Estimate,
    MeanClocks,
    ObservedPower,
    RunFigures,
    ServingFigures,
    estimate_mean,
)
from rules.metrics.headline import compute_headline
from rules.metrics.intervals import p95
from rules.metrics.parts import Part
from rules.metrics.serving import compute_serving_figures
from rules.protocol import PROTOCOLS, Agreement, Protocol
from rules.workloads import Size, workloads

_Key = TypeVar("_Key", int, str)


def compute_figures(
    run: RunDeclaration,
    system: SystemDeclaration,
    parts: Sequence[Part],
    requests: Table | None = None,
) -> RunFigures:
    """The figures of a run from its parts (see `rules.metrics.parts`).

    `requests` are those of a run that served, and None otherwise. Raises MetricsError where the
    evidence does not allow it.
    """
    protocol = PROTOCOLS[run.protocol]
    scored = [part for part in parts if part.epoch >= protocol.discarded_epochs]
    if not scored:
        raise MetricsError("there are no batches of scored epochs")
    # Decided once for the run: epochs by different methods could not be compared.
    by_counter = counter_passes(scored, protocol, run.rules_version)
    peak, flops = peak_flops(run, system), _flops_per_item(run)
    mfu_per_rate = flops / peak if flops and peak else None
    parts_by_epoch = _group(parts, lambda part: part.epoch)
    epochs = tuple(
        _compute_epoch(parts_by_epoch[epoch], protocol, by_counter, mfu_per_rate)
        for epoch in sorted(parts_by_epoch)
    )
    return RunFigures(
        epochs=epochs,
        headline=compute_headline(epochs),
        energy_of_record="counter" if by_counter else "trapezoid",
        observed=tuple(_observe_power(scored, by_counter, run.power.cap_w, protocol)),
        serving=None if requests is None else _compute_serving(requests, scored),
    )


def _group(parts: Sequence[Part], key: Callable[[Part], _Key]) -> dict[_Key, list[Part]]:
    """The parts by a key, in the order of the first part of each."""
    groups: dict[_Key, list[Part]] = {}
    for part in parts:
        groups.setdefault(key(part), []).append(part)
    return groups


def _compute_serving(requests: Table, scored: Sequence[Part]) -> ServingFigures:
    active_s = {(part.epoch, part.rank): part.active_s for part in scored}
    scored_epochs = list({epoch for epoch, _ in active_s})
    requests = requests.at(np.isin(requests.ints("epoch"), scored_epochs))
    if not len(requests):
        raise MetricsError("no request ended in a scored epoch")
    return compute_serving_figures(requests, active_s)


def agreement(protocol: Protocol, averaged: bool) -> Agreement:
    """How far counter and trapezoid may differ for a board with, or without, instantaneous power
    readings."""
    return protocol.averaged if averaged else protocol.instantaneous


SAMPLING_SIGMA = 3.0
"""By how many standard errors of sampling counter and trapezoid may differ."""
BOOKS_WITHOUT_SAMPLING_ERROR = RELEASED[: RELEASED.index("1.9.0")]
"""The rule books whose limits do not depend on how much power varies."""


def widen_limit(limit: float, parts: Sequence[Part], rules_version: str = VERSION) -> float:
    """Return the largest allowed difference between counter and trapezoid over `parts`: `limit`,
    and the sampling error of the trapezoid as an independent error. All are shares of the
    counter's energy. Runs of rule books before 1.9.0 keep their limit, and so their verdict."""
    energy_j = math.fsum(part.energy_j_counter or 0.0 for part in parts)
    if rules_version in BOOKS_WITHOUT_SAMPLING_ERROR or not energy_j > 0:
        return limit
    error_j = math.hypot(*(part.sampling_error_j for part in parts))
    return math.hypot(limit, SAMPLING_SIGMA * error_j / energy_j)


def relative_difference(energy_j_counter: float, energy_j_trapezoid: float) -> float:
    """Trapezoid against counter as a signed share of the counter's energy; infinite where the
    counter stood still."""
    # Infinite, so that such a counter never agrees with the trapezoid.
    if not energy_j_counter > 0:
        return math.inf
    return (energy_j_trapezoid - energy_j_counter) / energy_j_counter


def counter_passes(
    scored: Sequence[Part], protocol: Protocol, rules_version: str = VERSION
) -> bool:
    """The counter's self-test: present everywhere, advancing in every scored epoch, and in
    agreement with the trapezoid over the run."""
    energies_j = [part.energy_j_counter for part in scored]
    # A frozen counter gives 0, one that runs backwards gives less.
    if any(energy_j is None or energy_j <= 0 for energy_j in energies_j):
        return False
    difference = relative_difference(
        math.fsum(energy_j or 0.0 for energy_j in energies_j),
        math.fsum(part.energy_j_trapezoid for part in scored),
    )
    # The wider tolerance counts if one board has averaged power only.
    limit = agreement(protocol, any(part.averaged for part in scored)).run
    return abs(difference) <= widen_limit(limit, scored, rules_version)


def _flops_per_item(run: RunDeclaration) -> float | None:
    try:
        size = workloads()[run.workload].size(run.size, run.implementation.variant)
    except KeyError:
        raise MetricsError(
            f"the rule book has no {run.size} size of a workload {run.workload!r}"
        ) from None
    # The FLOPs of a whole training depend on its steps.
    if size.target or not as_defined(run.settings.requests, size):
        return None
    return size.flops_per_item


def as_defined(requests: RequestSet | None, size: Size) -> bool:
    """Whether an item of a run with this request set takes the FLOPs that the workload defines.

    Requests of other lengths than the workload's take others.
    """
    defined = size.request_set(0)
    return requests is None or (replace(requests, concurrency=0, rate_per_s=None) == defined)


def peak_flops(run: RunDeclaration, system: SystemDeclaration) -> float | None:
    """The dense peak in FLOP/s of the slowest accelerator of all ranks at the precision of the run;
    None if one is unknown."""
    known_boards = {accelerator.uuid: accelerator.board for accelerator in system.accelerators}
    boards = [known_boards.get(uuid) for rank in run.ranks for uuid in rank.accelerators]
    precision = run.implementation.precision
    peaks = [b.peak_tflops.get(precision) if b else None for b in boards]
    known = [peak for peak in peaks if peak is not None]
    return min(known) * 1e12 if known and len(known) == len(peaks) else None


def min_peak_share(
    items_per_s: float, size: Size, peak_tflops: float, as_defined: bool = True
) -> float:
    """The least share of a dense peak that a throughput per accelerator implies; above 1 it is
    impossible.

    Where requests to a server are not `as_defined`, their prompts may be as short as can be: an
    output token then takes what the workload's request takes for each of its tokens.
    """
    flops = size.min_flops_per_item or size.flops_per_item
    if not as_defined:
        defined = size.request_set(0)
        flops *= defined.output_tokens / (defined.prompt_tokens + defined.output_tokens)
    return items_per_s * flops / (peak_tflops * 1e12)


def energy_at_cap(items_per_s: float, cap_w: float) -> tuple[float, float]:
    """J/item and items/J of a throughput per accelerator that draws exactly its cap: assumed, not
    measured."""
    return cap_w / items_per_s, items_per_s / cap_w


def per_accelerator(items_per_s: float, accelerators: int) -> float:
    """A throughput in total as throughput per accelerator."""
    return items_per_s / accelerators


def _energy_of_record_j(part: Part, by_counter: bool) -> float:
    if by_counter and part.energy_j_counter is not None:
        return part.energy_j_counter
    return part.energy_j_trapezoid


def _compute_epoch(
    parts: Sequence[Part], protocol: Protocol, by_counter: bool, mfu_per_rate: float | None
) -> EpochFigures:
    """The figures of one epoch from its parts, of which there is at least one."""
    # By rank, because the accelerators of one rank share its items.
    items = sum({part.rank: part.items for part in parts}.values())
    active_s = math.fsum(part.active_s for part in parts)
    energy_j = math.fsum(_energy_of_record_j(part, by_counter) for part in parts)
    counters_j = [part.energy_j_counter for part in parts if part.energy_j_counter is not None]
    items_per_s_per_accelerator = items / active_s
    return EpochFigures(
        epoch=parts[0].epoch,
        scored=parts[0].epoch >= protocol.discarded_epochs,
        items=items,
        active_s=active_s / len(parts),
        items_per_s_per_accelerator=items_per_s_per_accelerator,
        items_per_s=items_per_s_per_accelerator * len(parts),
        joules_per_item=energy_j / items if items else None,
        items_per_joule=items / energy_j if energy_j > 0 else None,
        mean_power_w_per_accelerator=energy_j / active_s,
        energy_j_counter=math.fsum(counters_j) if len(counters_j) == len(parts) else None,
        energy_j_trapezoid=math.fsum(part.energy_j_trapezoid for part in parts),
        mfu=items_per_s_per_accelerator * mfu_per_rate if mfu_per_rate else None,
        accelerators=tuple(_compute_accelerator(part, by_counter) for part in parts),
    )


def _compute_accelerator(part: Part, by_counter: bool) -> AcceleratorFigures:
    power_w = part.power_w
    # Only if a reading of the run failed: the search for failed ones in each epoch takes time.
    if len(part.trace.usable_power_w) < len(part.trace.power_w):
        power_w = power_w[np.isfinite(power_w)]
    return AcceleratorFigures(
        rank=part.rank,
        accelerator=part.accelerator,
        items=part.items,
        active_s=part.active_s,
        energy_j_counter=part.energy_j_counter,
        energy_j_trapezoid=part.energy_j_trapezoid,
        mean_power_w=_energy_of_record_j(part, by_counter) / part.active_s,
        p95_power_w=p95(power_w) if len(power_w) else None,
        max_power_w=float(power_w.max()) if len(power_w) else None,
        mean_sm_mhz=_mean_reading(part, "sm_mhz"),
        mean_mem_mhz=_mean_reading(part, "mem_mhz"),
    )


def _mean_reading(part: Part, column: str) -> float | None:
    values: Floats = part.column(column)
    if part.sampled.has_gaps(column):
        values = values[~np.isnan(values)]
    # `add.reduce` is what the method `mean` calls in the end; the method takes three times as long
    # for a few thousand values.
    return float(np.add.reduce(values)) / len(values) if len(values) else None


def _observe_power(
    scored: Sequence[Part], by_counter: bool, cap_w: float | None, protocol: Protocol
) -> Iterator[ObservedPower]:
    for accelerator, parts in _group(scored, lambda part: part.accelerator).items():
        energy_j = math.fsum(_energy_of_record_j(part, by_counter) for part in parts)
        mean_power_w = energy_j / math.fsum(part.active_s for part in parts)
        yield ObservedPower(
            accelerator,
            mean_power_w,
            None if cap_w is None else mean_power_w <= cap_w * protocol.cap_tolerance,
        )


def mean_clocks(epochs: Sequence[EpochFigures]) -> MeanClocks:
    """The clocks of a run: each scored epoch counts as the mean of its accelerators."""
    accelerators = [epoch.accelerators for epoch in epochs if epoch.scored]
    return MeanClocks(
        sm_mhz=_estimate_clock(
            [[figures.mean_sm_mhz for figures in epoch] for epoch in accelerators]
        ),
        mem_mhz=_estimate_clock(
            [[figures.mean_mem_mhz for figures in epoch] for epoch in accelerators]
        ),
    )


def _estimate_clock(clocks_mhz: Sequence[Sequence[float | None]]) -> Estimate | None:
    means = []
    for of_epoch in clocks_mhz:
        known = [clock_mhz for clock_mhz in of_epoch if clock_mhz is not None]
        # A mean over fewer boards would not be comparable with that of another epoch.
        if len(known) < len(of_epoch):
            return None
        means.append(fmean(known))
    return estimate_mean(means) if means else None


def items_per_second(items: float, seconds: float) -> float:
    """A throughput for showing progress; 0 where no time has passed."""
    return items / seconds if seconds > 0 else 0.0
