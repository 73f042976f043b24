"""Figures of points: energy by counter and trapezoid, intervals over parts, and what is refused."""

from dataclasses import astuple
from functools import cache

import numpy as np
import pandas as pd
import pytest

from rules.bundle_format.study_records import ANCHOR, LADDER, LONG, STUDY_BATCH_COLUMNS, PointPart
from rules.metrics.energy import MetricsError
from rules.metrics.figures import estimate_ratio
from rules.studies.metrics.anchors import compute_drifts
from rules.studies.metrics.points import PointFigures, SessionBoard, compute_point_figures
from rules.testing.frames import StudyFrames, table_of
from rules.testing.studies import BOARDS, make_study_frames

POWER_W = 400.0


@cache
def make_good_frames() -> StudyFrames:
    return make_study_frames(sessions=2)


def compute(frames: StudyFrames) -> PointFigures:
    by_board: dict[SessionBoard, object] = {
        (int(str(node).removeprefix("session")), str(uuid)): table_of(samples)
        for (node, uuid), samples in frames.samples.groupby(["node", "accelerator"])
    }
    return compute_point_figures(table_of(frames.points), table_of(frames.batches), by_board)  # type: ignore[arg-type]


def copy_frames(frames: StudyFrames) -> StudyFrames:
    return StudyFrames(
        frames.study,
        frames.system,
        frames.environment,
        frames.samples.copy(),
        frames.points.copy(),
        frames.batches.copy(),
        frames.log,
    )


def make_plain_frames() -> StudyFrames:
    """A ladder point of 1 s and a long point of 10 s in two parts, on a board that takes
    `POWER_W`, and 800 W in the second part. Times in the middle between samples."""
    frames = copy_frames(make_good_frames())
    frames.points = frames.points.iloc[[0, 0]].assign(
        kind=[LADDER, LONG],
        start_ns=[1_050_000_000, 3_050_000_000],
        end_ns=[2_050_000_000, 13_050_000_000],
        batch=[4, 8],
        items=[4000, 80_000],
        session=0,
        accelerator=BOARDS[0],
        outcome="ok",
    )
    parts = [
        PointPart(0, 0, 1000, 1_050_000_000, 2_050_000_000),
        PointPart(1, 0, 5000, 3_050_000_000, 8_050_000_000),
        PointPart(1, 1, 5000, 8_050_000_000, 13_050_000_000),
    ]
    frames.batches = pd.DataFrame(map(astuple, parts), columns=list(STUDY_BATCH_COLUMNS))
    ticks = np.arange(150)
    power_w = np.where(ticks > 80, 800.0, POWER_W)
    frames.samples = frames.samples.iloc[:150].assign(
        read_ns=ticks * 100_000_000,
        node="session0",
        accelerator=BOARDS[0],
        power_mw=power_w * 1e3,
        energy_mj=np.concatenate(([0.0], np.cumsum(power_w[1:] * 100))),
    )
    return frames


def test_figures_follow_from_power_and_images() -> None:
    figures = compute(make_plain_frames())
    assert figures.seconds.tolist() == [1, 10]
    # The step of power from 8.0 to 8.1 s lies half in each of the parts of the long window.
    assert figures.energy_j_trapezoid == pytest.approx([400, 6000])
    assert (figures.energy_j == figures.energy_j_counter).all()
    assert figures.energy_j == pytest.approx([400, 6000], rel=0.01)
    assert figures.by_counter.tolist() == [True, True]
    assert figures.images.tolist() == [4000, 80_000]
    assert figures.batches.tolist() == [1000, 10_000]
    assert np.isnan(figures.joules_half_width[0])
    # 2000 J less than the mean and 2000 J more: t = 12.706 for two parts.
    assert figures.joules_half_width[1] == pytest.approx(12.706 / 3, rel=0.01)


@pytest.mark.parametrize(
    "counter", [lambda mj: mj * 0, lambda mj: mj * 1.03, lambda mj: mj * np.nan, lambda mj: -mj]
)
def test_counter_that_fails_its_self_test_is_not_of_record(counter: object) -> None:
    frames = make_plain_frames()
    frames.samples["energy_mj"] = counter(frames.samples["energy_mj"])  # type: ignore[operator]
    figures = compute(frames)
    assert not figures.by_counter.any()
    assert figures.energy_j == pytest.approx([400, 6000])


def test_counter_that_stands_still_in_one_window_is_not_of_record() -> None:
    """The window is so short that the sums of counter and trapezoid still agree."""
    frames = make_plain_frames()
    row = frames.points.iloc[[1]].assign(start_ns=13_060_000_000, end_ns=13_070_000_000)
    frames.points = pd.concat([frames.points, row], ignore_index=True)
    assert compute(frames).by_counter.tolist() == [True, True, True]
    frames.samples["energy_mj"] -= np.where(np.arange(150) > 130, 80_000.0, 0.0)
    assert not compute(frames).by_counter.any()


def test_counter_that_stands_still_in_a_ladder_window_is_not_of_record_there() -> None:
    frames = make_plain_frames()
    is_in_ladder = frames.samples["read_ns"] < frames.points["end_ns"].iloc[0] + 200_000_000
    first_mj = frames.samples["energy_mj"].iloc[0]
    frames.samples["energy_mj"] = frames.samples["energy_mj"].mask(is_in_ladder, first_mj)
    assert compute(frames).by_counter.tolist() == [False, True]


def test_counter_is_of_record_where_the_samples_of_one_window_are_in_phase_with_its_batches() -> (
    None
):
    frames = copy_frames(make_good_frames())
    number = int(np.flatnonzero(frames.points["kind"] == LONG)[0])
    point = frames.points.iloc[number]
    is_inside = frames.samples["read_ns"].between(point["start_ns"], point["end_ns"]) & (
        frames.samples["accelerator"] == point["accelerator"]
    )
    frames.samples.loc[is_inside, "power_mw"] = frames.samples["power_mw"] * 1.5
    figures = compute(frames)
    assert figures.energy_j_trapezoid[number] > 1.4 * figures.energy_j_counter[number]
    assert figures.by_counter[number]


def test_good_study_has_figures_for_every_point_that_ran() -> None:
    frames = make_good_frames()
    figures = compute(frames)
    ran = (frames.points["outcome"] == "ok").to_numpy()
    assert 0 < ran.sum() < len(ran)
    assert (np.isfinite(figures.energy_j) == ran).all()
    is_long = frames.points["kind"].isin([LONG, ANCHOR]).to_numpy()
    assert (figures.by_counter == ran).all()
    difference = figures.energy_j_trapezoid / figures.energy_j_counter - 1
    assert np.abs(difference[is_long]).max() < 0.01


def test_interval_is_that_of_a_ratio_over_the_parts() -> None:
    frames = make_good_frames()
    figures = compute(frames)
    row = int(np.flatnonzero(frames.points["kind"] == LONG)[0])
    parts = frames.batches[frames.batches["point"] == row]
    # Each part as a point of its own.
    single = copy_frames(frames)
    single.points = frames.points.iloc[[row] * len(parts)].assign(
        kind=LADDER,
        start_ns=parts["start_ns"].to_numpy(),
        end_ns=parts["end_ns"].to_numpy(),
    )
    single.batches = frames.batches.iloc[:0]
    images = parts["batches"].to_numpy() * frames.points["batch"].iloc[row]
    estimate = estimate_ratio(compute(single).energy_j_trapezoid.tolist(), images.tolist())
    assert figures.joules_half_width[row] == pytest.approx(estimate.half_width / estimate.mean)


def test_sessions_with_overlapping_clocks_are_kept_apart() -> None:
    """Two sessions on one board, whose second clock starts at the same time."""
    frames = copy_frames(make_good_frames())
    expected = compute(frames)
    first = {n: s["read_ns"].iloc[0] for n, s in frames.samples.groupby("node")}
    shift_ns = int(first["session1"] - first["session0"])
    second = frames.points["session"] == 1
    of_second = frames.batches["point"].isin(np.flatnonzero(second))
    for table, rows, columns in (
        (frames.points, second, ["start_ns", "end_ns"]),
        (frames.batches, of_second, ["start_ns", "end_ns"]),
        (frames.samples, frames.samples["node"] == "session1", ["read_ns", "scheduled_ns"]),
    ):
        table.loc[rows, columns] -= shift_ns
    for table in (frames.points, frames.samples):
        table["accelerator"] = BOARDS[0]
    figures = compute(frames)
    np.testing.assert_allclose(figures.energy_j, expected.energy_j, rtol=1e-9)


def test_drift_is_the_largest_change_since_the_first_anchor() -> None:
    frames = make_good_frames()
    points = table_of(frames.points)
    figures = compute(frames)
    assert [
        (d.session, d.accelerator, len(d.joules_per_image)) for d in compute_drifts(points, figures)
    ] == [
        (0, BOARDS[0], 2),
        (1, BOARDS[1], 2),
    ]
    anchors = np.flatnonzero(frames.points["kind"] == ANCHOR)
    figures.energy_j[anchors[1]] = 0.95 * figures.energy_j[anchors[0]]
    figures.images[anchors[1]] = figures.images[anchors[0]]
    assert compute_drifts(points, figures)[0].drift == pytest.approx(-0.05)


def _move_window(frames: StudyFrames) -> None:
    frames.points.loc[frames.points.index[1], "end_ns"] = 15_000_000_000


def _drop_samples(frames: StudyFrames) -> None:
    frames.samples["node"] = "session1"


def _repeat_time(frames: StudyFrames) -> None:
    frames.samples.loc[frames.samples.index[9], "read_ns"] = 0


def _end_before_start(frames: StudyFrames) -> None:
    frames.points.iloc[0, frames.points.columns.get_loc("end_ns")] = 1_050_000_000


def _drop_images(frames: StudyFrames) -> None:
    frames.points.iloc[0, frames.points.columns.get_loc("items")] = 0


def _drop_batch(frames: StudyFrames) -> None:
    frames.points.iloc[0, frames.points.columns.get_loc("batch")] = 0


def _move_part(frames: StudyFrames) -> None:
    frames.batches.loc[2, "end_ns"] = 13_060_000_000


def _name_unknown_point(frames: StudyFrames) -> None:
    frames.batches.loc[2, "point"] = 7


def _fail_point(frames: StudyFrames) -> None:
    frames.points.iloc[0, frames.points.columns.get_loc("outcome")] = "failed"


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_move_window, "points.csv.gz, row 2: the window reaches outside the samples of GPU-1"),
        (_drop_samples, "points.csv.gz, rows 1-2: there are no samples of GPU-1.* in session 0"),
        (_repeat_time, "GPU-1.* in session 0: .* read_ns does not rise"),
        (_end_before_start, "points.csv.gz, row 1: the point has no duration"),
        (_drop_images, "points.csv.gz, row 1: the point has no images"),
        (_drop_batch, "points.csv.gz, row 1: the point has no batch size"),
        (_move_part, "batches.csv.gz, row 3: the part lies outside its point"),
        (_name_unknown_point, "batches.csv.gz, row 3: points.csv.gz has no point of this number"),
        (_fail_point, "batches.csv.gz, row 1: points.csv.gz has no point of this number"),
    ],
)
def test_evidence_without_figures_is_named(spoil: object, message: str) -> None:
    frames = make_plain_frames()
    frames.points.index = pd.RangeIndex(2)
    spoil(frames)  # type: ignore[operator]
    with pytest.raises(MetricsError, match=message):
        compute(frames)
