"""The results of the models of a study, from the figures of its points."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rules.bundle_format.study_records import LADDER, LONG
from rules.bundle_format.table import Table
from rules.studies.accuracy import AccuracyTable
from rules.studies.metrics.points import PointFigures, SessionBoard
from rules.studies.models import classify
from rules.studies.results import BatchFigures, ModelResult, Setup


@dataclass(frozen=True)
class BoardInSession:
    """What all points of an accelerator in a session have in common."""

    source: str
    provenance: str
    board: str
    cap_w: float | None

    def make_setup(self, engine: str, precision: str) -> Setup:
        """The setup of its points with this engine and precision."""
        return Setup(self.source, self.provenance, self.board, engine, precision, self.cap_w)


@dataclass(frozen=True)
class _Window:
    """The window of a point that ran."""

    is_long: bool
    batch: int
    images: float
    batches: float
    seconds: float
    energy_j: float
    joules_half_width: float
    peak_bytes: int
    flops: int
    params: int
    activations: int


def compute_results(
    points: Table,
    figures: PointFigures,
    boards: Mapping[SessionBoard, BoardInSession],
    accuracies: AccuracyTable,
) -> tuple[ModelResult, ...]:
    """The result of each model, input size and setup that has a long window, in the order of its
    first point. `boards` has the accelerators by session and UUID.

    Windows of the same kind and batch size are added up, for example those of two sessions. At a
    batch size with long windows, these count and not the short ones.
    """
    models: dict[tuple[Setup, str, int], list[_Window]] = {}
    for key, window in _windows(points, figures, boards):
        models.setdefault(key, []).append(window)
    return tuple(
        _make_result(setup, architecture, size, windows, accuracies)
        for (setup, architecture, size), windows in models.items()
        if any(window.is_long for window in windows)
    )


def _windows(
    points: Table, figures: PointFigures, boards: Mapping[SessionBoard, BoardInSession]
) -> Iterable[tuple[tuple[Setup, str, int], _Window]]:
    """The windows of the ladders and the long windows, with setup, architecture and size."""
    kinds, outcomes = points.text("kind").to_list(), points.text("outcome").to_list()
    names = ("architecture", "engine", "precision", "accelerator")
    numbers = ("size", "session", "batch", "peak_bytes", "flops", "params", "activations")
    rows = zip(
        kinds,
        outcomes,
        zip(*(points.text(name).to_list() for name in names), strict=True),
        zip(*(points.ints(name).tolist() for name in numbers), strict=True),
        figures.images.tolist(),
        figures.batches.tolist(),
        figures.seconds.tolist(),
        figures.energy_j.tolist(),
        figures.joules_half_width.tolist(),
        strict=True,
    )
    for kind, outcome, texts, integers, *values in rows:
        if outcome != "ok" or kind not in (LADDER, LONG):
            continue
        architecture, engine, precision, accelerator = texts
        size, session, batch, *sizes = integers
        setup = boards[session, accelerator].make_setup(engine, precision)
        yield (setup, architecture, size), _Window(kind == LONG, batch, *values, *sizes)


def _make_result(
    setup: Setup,
    architecture: str,
    size: int,
    windows: Sequence[_Window],
    accuracies: AccuracyTable,
) -> ModelResult:
    by_batch: dict[int, list[_Window]] = {}
    for window in windows:
        by_batch.setdefault(window.batch, []).append(window)
    batches = tuple(_add_up(by_batch[batch]) for batch in sorted(by_batch))
    best = min(
        (figures for figures in batches if figures.is_long),
        key=lambda figures: figures.joules_per_image,
    )
    published = accuracies.find(architecture, size)
    return ModelResult(
        setup=setup,
        architecture=architecture,
        tag=None,
        size=size,
        model_class=classify(architecture),
        best=best,
        batches=batches,
        max_batch=batches[-1].batch,
        flops=windows[0].flops,
        params=windows[0].params,
        activations=windows[0].activations,
        accuracy_pct=published.accuracy_pct if published else {},
    )


def _add_up(windows: Sequence[_Window]) -> BatchFigures:
    """The figures of all windows of a batch size."""
    is_long = any(window.is_long for window in windows)
    windows = [window for window in windows if window.is_long == is_long]
    images, batches, seconds, energy_j = (
        math.fsum(getattr(window, name) for window in windows)
        for name in ("images", "batches", "seconds", "energy_j")
    )
    joules_per_image = energy_j / images
    # The errors of windows are independent of each other.
    half_width = math.hypot(*(w.joules_half_width * w.energy_j for w in windows)) / images
    return BatchFigures(
        batch=windows[0].batch,
        images_per_s=images / seconds,
        joules_per_image=joules_per_image,
        mean_power_w=energy_j / seconds,
        joules_ci95=None
        if math.isnan(half_width)
        else (joules_per_image - half_width, joules_per_image + half_width),
        latency_s=seconds / batches,
        peak_bytes=max(window.peak_bytes for window in windows),
        is_long=is_long,
    )
