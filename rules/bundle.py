"""A bundle as the rules see it: the evidence, and what several rules derive from it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rules.bundle_format.records import Json, Read
from rules.bundle_format.table import Ints, Mask, Table
from rules.finding import Problem
from rules.metrics import intervals
from rules.metrics import run as metrics
from rules.metrics.power_series import Series
from rules.metrics.run import Part
from rules.protocol import PROTOCOLS, Protocol
from rules.workloads import Workload, workloads


@dataclass
class Bundle:
    """A bundle as the rules see it. `evidence` is None if problems of form prevented reading it."""

    path: Path
    problems: tuple[Problem, ...]
    evidence: Read | None

    @property
    def result(self) -> Json:
        return self._evidence.result

    @property
    def system(self) -> Json:
        return self._evidence.system

    @property
    def environment(self) -> Json:
        return self._evidence.environment

    @property
    def samples(self) -> Table:
        return self._evidence.samples

    @property
    def batches(self) -> Table:
        return self._evidence.batches

    @property
    def requests(self) -> Table | None:
        """None if the run served no requests, or if the table is missing (P115 reports that)."""
        return self._evidence.requests

    @property
    def log(self) -> str:
        return self._evidence.log

    @property
    def _evidence(self) -> Read:
        if self.evidence is None:
            raise LookupError(f"{self.path}: the evidence could not be read")
        return self.evidence

    @property
    def standing(self) -> str:
        return str(self.result["standing"])

    @property
    def protocol(self) -> Protocol:
        return PROTOCOLS[self.result["protocol"]]

    @property
    def workload(self) -> Workload:
        return workloads()[self.result["workload"]]

    @cached_property
    def accelerators(self) -> Mapping[str, Json]:
        """The accelerators of system.json by UUID."""
        return {a["uuid"]: a for node in self.system["nodes"] for a in node["accelerators"]}

    @cached_property
    def samples_of(self) -> Mapping[str, Table]:
        """The samples of each accelerator, in the order of the file."""
        return intervals.by_accelerator(self.samples)

    @cached_property
    def batches_of(self) -> Mapping[tuple[int, int], Ints]:
        """The row numbers of the batches by epoch and rank, sorted by batch number."""
        return intervals.by_epoch_and_rank(self.batches)

    @cached_property
    def spans(self) -> Mapping[tuple[int, int], tuple[int, int]]:
        """Start of the first and end of the last batch in ns, by epoch and rank."""
        start_ns, end_ns = (self.batches.ints(name) for name in ("start_ns", "end_ns"))
        return {
            key: (int(start_ns[at].min()), int(end_ns[at].max()))
            for key, at in self.batches_of.items()
        }

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
        return {uuid: r["rank"] for r in self.result["ranks"] for uuid in r["accelerators"]}

    @cached_property
    def parts(self) -> tuple[Part, ...] | str:
        """What each accelerator did in each epoch, or the reason why it cannot be computed (T101
        reports the reason)."""
        try:
            return tuple(
                metrics.parts_of(self.result, self.samples_of, self.batches, self.batches_of)
            )
        except metrics.MetricsError as error:
            return str(error)

    @cached_property
    def computed(self) -> Json | str:
        """The figures recomputed from the raw tables (see `metrics.figures`), or the reason why
        they cannot be computed."""
        if isinstance(self.parts, str):
            return self.parts
        try:
            return metrics.figures(self.result, self.system, self.parts, self.requests)
        except metrics.MetricsError as error:
            return str(error)

    @cached_property
    def scored_parts(self) -> tuple[Part, ...]:
        """The parts of the scored epochs. Empty if they cannot be computed."""
        parts = () if isinstance(self.parts, str) else self.parts
        return tuple(p for p in parts if p.epoch >= self.protocol.discarded_epochs)

    @cached_property
    def series(self) -> tuple[Series, ...]:
        """The power series of each accelerator that has samples under load."""
        loads: dict[str, tuple[Table, Mask]] = {}
        for part in self.scored_parts:
            _, load = loads.setdefault(
                part.accelerator, (part.sampled, np.zeros(len(part.sampled), dtype=bool))
            )
            load[part.rows] = True
        return tuple(
            Series(
                uuid,
                str(self.accelerators.get(uuid, {}).get("vendor")),
                str(self.accelerators.get(uuid, {}).get("name")),
                samples,
                load,
            )
            for uuid, (samples, load) in loads.items()
            if load.any()
        )

    @property
    def measured_series(self) -> Iterator[Series]:
        """The power series of real boards of the kinds in `power_series.MEASURED`. The statistics
        of readings were established on these boards only."""
        return (series for series in self.series if series.measured)

    @cached_property
    def scored_samples(self) -> Table:
        """The samples inside active windows of scored epochs."""
        return self._at([p.places for p in self.scored_parts])

    @cached_property
    def scored_samples_of(self) -> Mapping[str, Table]:
        """The samples inside active windows of scored epochs, by accelerator."""
        places: dict[str, list[Any]] = {}
        for part in self.scored_parts:
            places.setdefault(part.accelerator, []).append(part.places)
        return {name: self._at(own) for name, own in places.items() if any(map(len, own))}

    def _at(self, places: list[Any]) -> Table:
        return self.samples.at(np.concatenate(places) if places else slice(0))
