"""The figures of the points of a study, from its tables of points, parts and samples.

Energy of a point is computed in two ways, over its whole window: by the energy counter, and as the
trapezoid over power samples. The energy of record is the counter, if it passes its self-test on
that board in that session, else the trapezoid. Samples every 100 ms are in phase with some batches:
on H200, ladder windows of 1 s were up to 7.6 % apart from the long window of the same batch size by
the trapezoid, and up to 2.4 % by the counter, which advances every 100 ms.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from rules.bundle_format.study_records import LADDER, POINTS_FILE, STUDY_BATCHES_FILE
from rules.bundle_format.table import Floats, Ints, Mask, Table, format_rows
from rules.metrics.energy import (
    MetricsError,
    Trace,
    build_trace,
    counter_energies,
    trapezoid_energies,
)
from rules.metrics.figures import student_t95
from rules.metrics.run import agreement
from rules.protocol import V1_1

SessionBoard = tuple[int, str]
"""Number of a session, and UUID of an accelerator."""


@dataclass(frozen=True)
class PointFigures:
    """The figures of n points, each of shape (n,), in the order of points.csv.gz. They are NaN for
    a point that has another outcome than `ok`."""

    seconds: Floats
    energy_j_trapezoid: Floats
    energy_j_counter: Floats
    """NaN also where the accelerator has no counter."""
    by_counter: Mask
    """Whether the energy of record is that of the counter."""
    energy_j: Floats
    """The energy of record."""
    joules_half_width: Floats
    """Half of the 95 % interval of the energy, as a share of it. It is the interval of the ratio of
    energy to images over the parts, by Student's t, with energies by the trapezoid. NaN for a point
    of one part."""
    images: Floats
    batches: Floats


def compute_point_figures(
    points: Table, parts: Table, samples_by_board: Mapping[SessionBoard, Table]
) -> PointFigures:
    """Compute the figures of all points. The tables have the columns of `Point`, `PointPart` and
    `SAMPLE_COLUMNS`. Raises MetricsError where the evidence does not allow a figure."""
    ran = points.text("outcome").equals("ok")
    _check_points(points, ran)
    _check_parts(points, parts, ran)
    counter_j, trapezoid_j = np.full(len(points), np.nan), np.full(len(points), np.nan)
    by_counter = np.zeros(len(points), dtype=bool)
    parts_j = np.full(len(parts), np.nan)
    part_points = parts.ints("point")
    is_long = ~points.text("kind").equals(LADDER)
    for rows, trace, place in _traces(points, ran, samples_by_board):
        _check_covered(points, rows, trace, place)
        trapezoid_j[rows] = _trapezoid_j(points.at(rows), trace)
        counter_j[rows] = _counter_j(points.at(rows), trace)
        long_rows = rows[is_long[rows]]
        by_counter[rows] = (counter_j[rows] > 0) & _counter_passes(
            counter_j[long_rows], trapezoid_j[long_rows], trace.averaged
        )
        own_parts = np.flatnonzero(np.isin(part_points, rows))
        parts_j[own_parts] = _trapezoid_j(parts.at(own_parts), trace)
    energy_j = np.where(by_counter, counter_j, trapezoid_j)
    if (energy_j[ran] <= 0).any():
        row = format_rows(points, np.flatnonzero(energy_j <= 0)[:1])
        raise MetricsError(f"{POINTS_FILE}, {row}: the energy of the window is not above zero")
    batch = points.floats("batch")
    images = np.where(ran, points.floats("items"), np.nan)
    part_images = parts.floats("batches") * batch[part_points]
    seconds = (points.ints("end_ns") - points.ints("start_ns")) / 1e9
    return PointFigures(
        seconds=np.where(ran, seconds, np.nan),
        energy_j_trapezoid=trapezoid_j,
        energy_j_counter=counter_j,
        by_counter=by_counter,
        energy_j=energy_j,
        joules_half_width=_half_widths(part_points, parts_j, part_images, len(points)),
        images=images,
        batches=images / batch,
    )


def _traces(
    points: Table, ran: Mask, samples_by_board: Mapping[SessionBoard, Table]
) -> Iterator[tuple[Ints, Trace, str]]:
    """For each session and accelerator with points: the rows of its points that ran, its readings,
    and its name for messages."""
    sessions, accelerators = points.ints("session"), points.text("accelerator")
    keys = np.column_stack([sessions[ran], accelerators.codes[ran]])
    for session, code in np.unique(keys, axis=0).tolist():
        rows = np.flatnonzero(ran & (sessions == session) & (accelerators.codes == code))
        name = accelerators.names[code]
        place = f"{name} in session {session}"
        board_samples = samples_by_board.get((session, name))
        if board_samples is None:
            raise MetricsError(
                f"{POINTS_FILE}, {format_rows(points, rows)}: there are no samples of {place}"
            )
        try:
            # Between two windows samples are missing, so the age of a value cannot be told.
            trace = build_trace(board_samples, at_changes=False)
        except MetricsError as error:
            raise MetricsError(f"{place}: {error}") from None
        yield rows, trace, place


def _bounds_s(windows: Table, trace: Trace) -> tuple[Floats, Floats]:
    """Starts and ends of windows in s on the clock of the trace."""
    # Subtract while the times are integers: a double does not hold the ns of a long uptime exactly.
    starts_s, ends_s = (
        (windows.ints(name) - trace.zero_ns) / 1e9 for name in ("start_ns", "end_ns")
    )
    return starts_s, ends_s


def _trapezoid_j(windows: Table, trace: Trace) -> Floats:
    if not len(windows):
        return np.empty(0)
    return trapezoid_energies(
        trace.usable_power_times_s, trace.usable_power_w, *_bounds_s(windows, trace)
    )


def _counter_j(windows: Table, trace: Trace) -> Floats:
    """NaN where there is no counter."""
    energies_j = counter_energies(
        trace.counter_times_s, trace.counter_j, *_bounds_s(windows, trace)
    )
    return np.full(len(windows), np.nan) if energies_j is None else energies_j


def _counter_passes(counter_j: Floats, trapezoid_j: Floats, averaged: bool) -> bool:
    """The counter's self-test over the long windows of a board in a session: it advances in each,
    and agrees in the median with the trapezoid as it must over a run. Single windows may be in
    phase with the samples."""
    if not len(counter_j) or not (counter_j > 0).all():
        return False
    difference = float(np.median(trapezoid_j / counter_j)) - 1
    return abs(difference) <= agreement(V1_1, averaged).run


def _half_widths(part_points: Ints, parts_j: Floats, images: Floats, count: int) -> Floats:
    """The interval of the ratio of energy to images of each point over its parts, as a share of the
    ratio, shape (count,). The formula is that of `rules.metrics.figures.estimate_ratio`."""

    def sum_by_point(values: Floats) -> Floats:
        return np.bincount(part_points, weights=values, minlength=count).astype(np.float64)

    n = np.bincount(part_points, minlength=count)
    # Points of one part have no spread.
    n = np.where(n > 1, n, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        total_j, total_images = sum_by_point(parts_j), sum_by_point(images)
        residuals = parts_j - (total_j / total_images)[part_points] * images
        sd = np.sqrt(sum_by_point(residuals**2) / (n - 1)) / (total_j / n)
        quantiles = np.array(
            [student_t95(k - 1) if k > 1 else np.nan for k in range(int(n.max(initial=0)) + 1)]
        )
        return np.where(n > 1, quantiles[n] * sd / np.sqrt(n), np.nan)


def _check_points(points: Table, ran: Mask) -> None:
    for wrong, what in (
        (points.ints("end_ns") <= points.ints("start_ns"), "has no duration"),
        (points.ints("items") <= 0, "has no images"),
        (points.ints("batch") <= 0, "has no batch size"),
    ):
        if (wrong & ran).any():
            row = format_rows(points, np.flatnonzero(wrong & ran)[:1])
            raise MetricsError(f"{POINTS_FILE}, {row}: the point {what}, but its outcome is ok")


def _check_parts(points: Table, parts: Table, ran: Mask) -> None:
    numbers = parts.ints("point")
    has_point = (numbers >= 0) & (numbers < len(points))
    has_point[has_point] = ran[numbers[has_point]]
    if not has_point.all():
        row = format_rows(parts, np.flatnonzero(~has_point)[:1])
        raise MetricsError(
            f"{STUDY_BATCHES_FILE}, {row}: {POINTS_FILE} has no point of this number with the "
            "outcome ok"
        )
    inside = (parts.ints("start_ns") >= points.ints("start_ns")[numbers]) & (
        parts.ints("end_ns") <= points.ints("end_ns")[numbers]
    )
    if not inside.all():
        row = format_rows(parts, np.flatnonzero(~inside)[:1])
        raise MetricsError(f"{STUDY_BATCHES_FILE}, {row}: the part lies outside its point")


def _check_covered(points: Table, rows: Ints, trace: Trace, place: str) -> None:
    """Raises MetricsError if a window leaves the readings of power or counter."""
    starts_s, ends_s = _bounds_s(points.at(rows), trace)
    for times_s in (trace.usable_power_times_s, trace.counter_times_s):
        # One reading of a counter gives no energy, so it covers nothing and is not used.
        if len(times_s) < 2:
            continue
        outside = (starts_s < times_s[0]) | (ends_s > times_s[-1])
        if outside.any():
            row = format_rows(points, rows[outside][:1])
            raise MetricsError(
                f"{POINTS_FILE}, {row}: the window reaches outside the samples of {place}"
            )
