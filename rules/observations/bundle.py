"""The bundle of an observed job as the rules see it."""

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from rules.bundle_format.evidence import ObservationEvidence
from rules.bundle_format.observation_files import read_time_ns
from rules.bundle_format.records import Json
from rules.bundle_format.table import Table
from rules.declarations.observation import ObservationDeclaration
from rules.finding import Problem
from rules.metrics.energy import MetricsError
from rules.metrics.node.observed import (
    MINUTE_S,
    FeedReadings,
    ObservedFigures,
    compute_observed_figures,
)
from rules.metrics.power.readings import read_power_w


@dataclass
class ObservationBundle:
    """The bundle of an observed job as the rules see it. `evidence` is None if problems of form
    prevented reading it."""

    path: Path
    problems: tuple[Problem, ...]
    evidence: ObservationEvidence | None

    @property
    def _evidence(self) -> ObservationEvidence:
        if self.evidence is None:
            raise LookupError(f"{self.path}: the evidence could not be read")
        return self.evidence

    @property
    def observation(self) -> Json:
        return self._evidence.observation

    @property
    def power(self) -> Table:
        """The rows of power.csv.gz."""
        return self._evidence.power

    @property
    def node_log(self) -> str:
        """The text of node_log.gz."""
        return self._evidence.node_log

    @cached_property
    def declaration(self) -> ObservationDeclaration:
        """What observation.json declares, without the figures."""
        return ObservationDeclaration.from_document(self.observation)

    @property
    def standing(self) -> str:
        return self.declaration.standing

    @property
    def judged_standing(self) -> str:
        return self.standing

    @cached_property
    def window_ns(self) -> tuple[int, int]:
        """Start and end of the declared window since 1970."""
        return read_time_ns(self.declaration.started_at), read_time_ns(self.declaration.ended_at)

    @cached_property
    def feeds(self) -> dict[str, FeedReadings]:
        """The usable readings of each feed, in the order of their times."""
        names, is_mean = self.power.text("feed"), self.declaration.meter.interval == "mean-before"
        feeds = {}
        for name in names.distinct():
            table = self.power.at(names.equals(name))
            power_w, times_ns = read_power_w(table), table.ints("time_ns")
            rows = np.flatnonzero(np.isfinite(power_w))
            rows = rows[np.argsort(times_ns[rows], kind="stable")]
            feeds[name] = FeedReadings(times_ns[rows], power_w[rows], is_mean)
        return feeds

    @cached_property
    def figures_or_reason(self) -> ObservedFigures | str:
        """The recomputed figures, or why there are none."""
        items = self.declaration.job.items
        try:
            return compute_observed_figures(
                list(self.feeds.values()),
                *self.window_ns,
                items.count if items else None,
                # Older bundles state figures of minutes whatever the steps are.
                math.inf if self.declaration.meter.reading is None else MINUTE_S,
            )
        except MetricsError as error:
            return str(error)
