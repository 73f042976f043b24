"""Measures one model on one board: its ladder of batch sizes and its long windows."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from harness.power.sampler import Sampler, WindowSample
from harness.studies.boards.worker_process import StudyWorker, Window
from harness.studies.plan import StudySettings
from harness.studies.records import MeasuredPoint
from rules.bundle_format.study_records import LADDER, LONG
from rules.bundle_format.table import Table
from rules.metrics.power.readings import has_power
from rules.protocol import CURRENT
from rules.studies.ladder import LadderStep, choose_long_batches, choose_next_batch
from rules.studies.metrics.ladder_energy import measure_energies
from rules.study_contract import BatchRefused, ModelRefused

FIRST_BATCH_S = 1.0
"""About the longest time of a batch of one image."""
BURN_IN_BATCH = 64
MAX_WINDOWS = 3
"""How often a window is measured while its samples have gaps that the protocol does not allow."""


class PowerUnread(Exception):
    """The meter gave no power during a window."""


class ModelMeter:
    """Measures windows of the model that a worker has open.

    `log_line` adds a line to the log of the study.
    """

    def __init__(
        self,
        worker: StudyWorker,
        sampler: Sampler,
        settings: StudySettings,
        log_line: Callable[[str], None],
    ) -> None:
        self._worker, self._sampler, self._settings = worker, sampler, settings
        self._log_line = log_line
        self._batch_s: dict[int, float] = {}
        """Measured time of a batch, by batch size."""

    def measure_model(self) -> tuple[MeasuredPoint, ...]:
        """Measure the ladder and the long windows of the open model.

        Raises ModelRefused if not even one image runs, or no long window. Raises PowerUnread,
        WorkerDied or SamplerError.
        """
        ladder = self.measure_ladder()
        steps = [LadderStep(point.batch, point.joules_per_image) for point in ladder]
        return (*ladder, *self.measure_long(LONG, choose_long_batches(steps)))

    def measure_ladder(self) -> tuple[MeasuredPoint, ...]:
        """Measure a short window of each batch size up to the end of the ladder. Raises as
        `measure_model`."""
        points: list[MeasuredPoint] = []
        steps: list[LadderStep] = []
        while (batch := choose_next_batch(steps, self._settings.ladder_limits)) is not None:
            point = self._measure(LADDER, batch, self._settings.ladder_s, 1, 1)
            if point.outcome != "ok" and not points:
                raise ModelRefused(f"{point.outcome} at batch 1; the log has the error")
            points.append(point)
            steps.append(LadderStep(batch, point.joules_per_image))
        return tuple(points)

    def measure_long(self, kind: str, batches: Sequence[int]) -> tuple[MeasuredPoint, ...]:
        """Measure long windows, of a model or of the anchor. Raises as `measure_model`."""
        settings = self._settings
        task = settings.long_s, settings.long_batches, settings.parts
        points = tuple(self._measure(kind, batch, *task) for batch in batches)
        if all(point.outcome != "ok" for point in points):
            raise ModelRefused(f"{points[0].outcome} in the long windows; the log has the error")
        return points

    def burn_in(self) -> None:
        """Run the open model until the board is warm, and record nothing. Raises ModelRefused or
        WorkerDied."""
        batch = min(BURN_IN_BATCH, self._settings.max_batch)
        while batch:
            try:
                self._worker.measure(batch, self._settings.burn_in_s, 1, 1, FIRST_BATCH_S)
                return
            except BatchRefused:
                batch //= 2
        raise ModelRefused("not even one image runs; the log has the error")

    def _measure(
        self, kind: str, batch: int, seconds: float, min_batches: int, parts: int
    ) -> MeasuredPoint:
        expected_batch_s = self._batch_s.get(batch) or 2 * self._batch_s.get(
            batch // 2, FIRST_BATCH_S
        )
        try:
            window, samples = self._measure_window(
                batch, seconds, min_batches, parts, expected_batch_s
            )
        except BatchRefused as refusal:
            self._log_line(f"batch {batch}: {refusal.outcome}: {refusal}")
            now_ns = time.monotonic_ns()
            return MeasuredPoint(kind, batch, refusal.outcome, now_ns, now_ns)
        start_ns, end_ns = window.start_ns, window.end_ns
        point = MeasuredPoint(kind, batch, "ok", start_ns, end_ns, window.peak_bytes, window.parts)
        batches = sum(part.batches for part in window.parts)
        self._batch_s[batch] = point.duration_s / batches
        joules_per_image = measure_energy_j(samples, start_ns, end_ns) / point.items
        self._log_line(
            f"{kind} batch {batch}: {point.duration_s:.2f} s, "
            f"{point.items / point.duration_s:.6g} images/s, {1e3 * joules_per_image:.5g} mJ/image"
        )
        return replace(point, joules_per_image=joules_per_image)

    def _measure_window(
        self, batch: int, seconds: float, min_batches: int, parts: int, expected_batch_s: float
    ) -> tuple[Window, Table]:
        """Measure a window, and again if the sampler was stopped during it. Returns the window and
        its samples. Raises BatchRefused, WorkerDied or SamplerError."""
        for _ in range(MAX_WINDOWS):
            window = self._worker.measure(batch, seconds, min_batches, parts, expected_batch_s)
            (rows,) = self._sampler.read_window(window.start_ns, window.end_ns)
            samples = build_table(rows)
            gap_ms = find_longest_gap_ms(samples)
            if gap_ms <= CURRENT.max_gap_ms:
                break
            self._log_line(f"batch {batch}: {gap_ms:.0f} ms without a power reading")
        return window, samples


def find_longest_gap_ms(samples: Table) -> float:
    """The longest time between two power readings, 0 with fewer than two."""
    gaps_ns = np.diff(samples.ints("read_ns")[has_power(samples)])
    return float(gaps_ns.max(initial=0)) / 1e6


def measure_energy_j(samples: Table, start_ns: int, end_ns: int) -> float:
    """The energy of a window. Raises PowerUnread."""
    (energy_j,) = measure_energies(samples, np.array([start_ns]), np.array([end_ns]))
    if math.isnan(energy_j):
        raise PowerUnread("the meter gave no power during a window")
    return float(energy_j)


def build_table(samples: Sequence[WindowSample]) -> Table:
    """The table of the samples of a window, with an empty cell where there is no reading."""
    columns = zip(WindowSample._fields, zip(*samples, strict=True), strict=True)
    # Times stay integers, because a double does not hold those of a long uptime.
    types = {"read_ns": np.int64}
    return Table.of(
        {name: np.array(values, types.get(name, np.float64)) for name, values in columns}
    )
