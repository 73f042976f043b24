"""The headline figures of a run from its scored epochs, by each version of the rule book.

Since rule book 1.5.0, a headline figure is a ratio of sums over the scored epochs: throughput is
items / time, J per item is energy / items, and power is energy / time. It follows that J per item x
items/s per accelerator = W of the headline too. Earlier rule books average the ratios of the
epochs, which contradict each other where epochs differ.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rules import RELEASED
from rules.metrics.figures import (
    FIGURES,
    EpochFigures,
    Headline,
    RunFigures,
    estimate_mean,
    estimate_ratio,
)

FIRST_WITH_RATIOS = "1.5.0"
"""The first rule book whose headline figures are ratios of sums."""


def compute_headline(epochs: Sequence[EpochFigures]) -> Headline:
    """Ratios of sums over the scored epochs, of which there is at least one; None for a figure that
    one of them lacks. Energies have no denominator: they are means."""
    scored = [epoch for epoch in epochs if epoch.scored]
    items = [float(epoch.items) for epoch in scored]
    active_s = [epoch.active_s for epoch in scored]
    accelerator_s = [epoch.active_s * len(epoch.accelerators) for epoch in scored]
    energies_j = [
        epoch.mean_power_w_per_accelerator * seconds
        for epoch, seconds in zip(scored, accelerator_s, strict=True)
    ]
    counters_j = [e.energy_j_counter for e in scored if e.energy_j_counter is not None]
    # The seconds that the work takes at the peak.
    peak_s = [
        epoch.mfu * seconds
        for epoch, seconds in zip(scored, accelerator_s, strict=True)
        if epoch.mfu is not None
    ]
    return Headline(
        items_per_s_per_accelerator=estimate_ratio(items, accelerator_s),
        items_per_s=estimate_ratio(items, active_s),
        joules_per_item=estimate_ratio(energies_j, items) if all(items) else None,
        items_per_joule=estimate_ratio(items, energies_j) if min(energies_j) > 0 else None,
        mean_power_w_per_accelerator=estimate_ratio(energies_j, accelerator_s),
        energy_j_counter=estimate_mean(counters_j) if len(counters_j) == len(scored) else None,
        energy_j_trapezoid=estimate_mean([epoch.energy_j_trapezoid for epoch in scored]),
        mfu=estimate_ratio(peak_s, accelerator_s) if len(peak_s) == len(scored) else None,
    )


def apply_rule_book(figures: RunFigures, rules_version: str) -> RunFigures:
    """The figures as the result.json of a run under this rule book states them."""
    if RELEASED.index(rules_version) >= RELEASED.index(FIRST_WITH_RATIOS):
        return figures
    return replace(figures, headline=_average_epochs(figures.scored_epochs))


def _average_epochs(scored: Sequence[EpochFigures]) -> Headline:
    """The headline of the rule books before 1.5.0: means of the figures of the epochs."""
    estimates: dict[str, Any] = {}
    for name in FIGURES:
        values = [getattr(epoch, name) for epoch in scored]
        estimates[name] = None if None in values else estimate_mean(values)
    return Headline(**estimates)
