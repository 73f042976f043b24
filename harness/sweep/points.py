"""The points that a sweep compares at its end: one for each setting, of accelerators and of whole
nodes."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from harness.sweep.plan import Entry
from rules.metrics.sweeps.points import (
    Point,
    SweepRun,
    average_settings,
    is_cap_enforced,
    make_node_point,
    make_point,
)

SettingRuns = Mapping[Entry, Sequence[SweepRun]]
"""The finished runs of a sweep by their setting: an entry whose place and repeat are 0."""


def make_points(runs: SettingRuns, ineffective_run_ids: Collection[str]) -> dict[Entry, Point]:
    """Return one point per setting, in the same order."""
    return _average_points(
        {entry: [make_point(run) for run in results] for entry, results in runs.items()},
        runs,
        ineffective_run_ids,
    )


def make_node_points(runs: SettingRuns, ineffective_run_ids: Collection[str]) -> dict[Entry, Point]:
    """Return one point with the energy of whole nodes per setting of which node meters measured
    every run, in the same order; none with a single one."""
    points: dict[Entry, list[Point]] = {}
    for entry, results in runs.items():
        measured = [point for run in results if (point := make_node_point(run))]
        if len(measured) == len(results):
            points[entry] = measured
    return _average_points(points, runs, ineffective_run_ids) if len(points) > 1 else {}


def _average_points(
    points: Mapping[Entry, Sequence[Point]],
    runs: SettingRuns,
    ineffective_run_ids: Collection[str],
) -> dict[Entry, Point]:
    judged = [
        [
            replace(point, enforced=is_enforced(run, ineffective_run_ids))
            for point, run in zip(points_of_setting, runs[entry], strict=True)
        ]
        for entry, points_of_setting in points.items()
    ]
    return dict(zip(points, average_settings(judged), strict=True))


def is_enforced(run: SweepRun, ineffective_run_ids: Collection[str]) -> bool | None:
    """Return whether the cap of a run was enforced: False if it was not or had no effect, None if
    that is not known."""
    return False if run.run_id in ineffective_run_ids else is_cap_enforced(run.figures)
