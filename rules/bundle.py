"""The bundle of a run as the rules see it: the evidence, and what several rules derive from it."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from rules import VERSION
from rules.bundle_evidence import BundleEvidence
from rules.bundle_format.table import Floats, Ints, Table
from rules.metrics.attempt import compute_or_explain
from rules.metrics.figures import IdleFigures, RunFigures
from rules.metrics.headline import apply_rule_book
from rules.metrics.idle import compute_idle_figures
from rules.metrics.intervals import (
    drop_module_counters,
    find_spans,
    group_by_accelerator,
    group_by_epoch_and_rank,
)
from rules.metrics.node.figures import NodeFigures, compute_node_figures
from rules.metrics.node.traces import FeedTrace, build_placed_traces
from rules.metrics.parts import Part, parts_of_groups
from rules.metrics.power.series import Series, build_series
from rules.metrics.run import compute_figures


class Bundle(BundleEvidence):
    """The bundle of a run as the rules see it: what it states, and what is recomputed from that."""

    @cached_property
    def samples_of(self) -> Mapping[str, Table]:
        """The samples of each accelerator, in the order of the file."""
        return drop_module_counters(group_by_accelerator(self.samples), self.accelerators)

    @cached_property
    def batches_of(self) -> Mapping[tuple[int, int], Ints]:
        """The row numbers of the batches by epoch and rank, sorted by batch number."""
        return group_by_epoch_and_rank(self.batches)

    @cached_property
    def spans(self) -> Mapping[tuple[int, int], tuple[int, int]]:
        """Start of the first and end of the last batch in ns, by epoch and rank."""
        return find_spans(self.batches, self.batches_of)

    @cached_property
    def scored_spans_of(self) -> Mapping[int, list[tuple[int, int]]]:
        """The spans of each rank in the scored epochs."""
        spans: dict[int, list[tuple[int, int]]] = {}
        for (epoch, rank), span in self.spans.items():
            if epoch >= self.protocol.discarded_epochs:
                spans.setdefault(rank, []).append(span)
        return spans

    @cached_property
    def accelerator_ranks(self) -> Mapping[str, int]:
        """The rank of each accelerator that belongs to one."""
        return {uuid: rank.rank for rank in self.ranks for uuid in rank.accelerators}

    @cached_property
    def _parts_or_reason(self) -> tuple[Part, ...] | str:
        return self._compute_parts(VERSION)

    def _compute_parts(self, rules_version: str) -> tuple[Part, ...] | str:
        groups = self.ranks, self.samples_of, self.batches, self.batches_of
        return compute_or_explain(lambda: tuple(parts_of_groups(*groups, rules_version)))

    @cached_property
    def _stated_parts_or_reason(self) -> tuple[Part, ...] | str:
        """The parts by the rule book that the run names."""
        parts, version = self._parts_or_reason, self.declaration.rules_version
        # Without repeated values of a counter, the arithmetic of all rule books is the same.
        if isinstance(parts, str) or not any(part.trace.has_repeats for part in parts):
            return parts
        return self._compute_parts(version)

    @cached_property
    def _figures_or_reason(self) -> RunFigures | str:
        return self._compute_figures(self._parts_or_reason)

    @cached_property
    def _stated_run_figures_or_reason(self) -> RunFigures | str:
        if self._stated_parts_or_reason is self._parts_or_reason:
            return self._figures_or_reason
        return self._compute_figures(self._stated_parts_or_reason)

    def _compute_figures(self, parts: tuple[Part, ...] | str) -> RunFigures | str:
        if isinstance(parts, str):
            return parts
        inputs = self.declaration, self.system_declaration, parts, self.requests
        return compute_or_explain(lambda: compute_figures(*inputs))

    @property
    def figures(self) -> RunFigures | None:
        """The figures recomputed by this rule book; None if that fails (T101 reports that)."""
        return None if isinstance(self._figures_or_reason, str) else self._figures_or_reason

    @cached_property
    def stated_figures(self) -> RunFigures | None:
        """The figures as result.json must state them: by the rule book that the run names."""
        figures = self._stated_run_figures_or_reason
        if isinstance(figures, str):
            return None
        return apply_rule_book(figures, self.declaration.rules_version)

    @cached_property
    def idle_figures_or_reason(self) -> IdleFigures | str:
        """Idle power of the boards that the run uses, and its phases, recomputed from events,
        samples and batches; or the reason why they cannot be computed."""
        parts, figures = self._stated_parts_or_reason, self._stated_run_figures_or_reason
        if isinstance(parts, str) or isinstance(figures, str):
            return self.figures_error
        declared, source = (self.declaration, self.events or ()), figures.energy_of_record
        return compute_or_explain(
            lambda: compute_idle_figures(*declared, parts, self.batches, source, {})
        )

    @property
    def figures_error(self) -> str:
        """Why there are no `figures`; empty if there are."""
        return self._figures_or_reason if isinstance(self._figures_or_reason, str) else ""

    @cached_property
    def _node_figures_or_reason(self) -> NodeFigures | str:
        parts, figures = self._stated_parts_or_reason, self._stated_run_figures_or_reason
        if self.node_samples is None or isinstance(parts, str) or isinstance(figures, str):
            return ""
        declared = self.declaration, self.system_declaration, self.node_samples
        return compute_or_explain(
            lambda: compute_node_figures(*declared, self.batches, parts, figures)
        )

    @cached_property
    def feed_traces(self) -> tuple[FeedTrace, ...]:
        """The traces of all feeds of all meters whose readings can be placed."""
        if self.node_samples is None:
            return ()
        return build_placed_traces(
            self.node_samples, self.meters, self.declaration.node_clocks or ()
        )

    @property
    def node_figures(self) -> NodeFigures | None:
        """The recomputed figures of the nodes; None without a node meter, or if that fails."""
        figures = self._node_figures_or_reason
        return None if isinstance(figures, str) else figures

    @property
    def node_figures_error(self) -> str:
        """Why there are no `node_figures`; empty if there are, and without a node meter."""
        return self._node_figures_or_reason if isinstance(self._node_figures_or_reason, str) else ""

    @property
    def parts(self) -> tuple[Part, ...]:
        """What each accelerator did in each epoch; empty if the evidence does not allow it."""
        return () if isinstance(self._parts_or_reason, str) else self._parts_or_reason

    @cached_property
    def scored_parts(self) -> tuple[Part, ...]:
        """The parts of the scored epochs. Empty if they cannot be computed."""
        return tuple(p for p in self.parts if p.epoch >= self.protocol.discarded_epochs)

    @cached_property
    def series(self) -> tuple[Series, ...]:
        """The power series of each accelerator that has samples under load."""
        return tuple(build_series(self.scored_parts, self.accelerators))

    @property
    def measured_series(self) -> Iterator[Series]:
        """The series of boards whose statistics are known (`power_series.MEASURED`)."""
        return (series for series in self.series if series.measured)

    def read_batch_windows_s(self, accelerator: str) -> tuple[Floats, Floats] | None:
        """Starts and ends in s of the batches that the rank of the accelerator trained, each sorted
        and of shape (n,). None for a server, whose batches are requests that overlap."""
        if self.requests is not None or self.request_set is not None:
            return None
        rank = self.accelerator_ranks[accelerator]
        batches = self.batches.at(self.batches.ints("rank") == rank)
        start_s, end_s = (np.sort(batches.ints(name)) / 1e9 for name in ("start_ns", "end_ns"))
        return start_s, end_s

    @cached_property
    def scored_samples(self) -> Table:
        """The samples inside active windows of scored epochs."""
        return self._at([p.places for p in self.scored_parts])

    @cached_property
    def scored_samples_of(self) -> Mapping[str, Table]:
        """The same by accelerator."""
        places: dict[str, list[Any]] = {}
        for part in self.scored_parts:
            places.setdefault(part.accelerator, []).append(part.places)
        return {uuid: self._at(parts) for uuid, parts in places.items() if any(map(len, parts))}

    def _at(self, places: list[Any]) -> Table:
        return self.samples.at(np.concatenate(places) if places else slice(0))
