"""The energy that ladders are climbed by, in both methods."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from conftest import copy_study

from rules.bundle_format.table import Table
from rules.checks.study import ladder_broken, long_windows_elsewhere
from rules.protocol import STUDY_V1_0, STUDY_V1_1, StudyMethod
from rules.studies.bundle import StudyBundle
from rules.studies.metrics.ladder_energy import measure_energies
from rules.studies.windows import BoardWindows
from rules.testing.frames import StudyFrames
from rules.testing.study_mutations import MODEL, find_points, select_samples

TICK_NS = 100_000_000
UPTIME_NS = 40 * 86_400 * 10**9
NAN = float("nan")


def make_samples(
    count: int = 31, power_mw: float = 500_000, energy_mj: float | None = 40_000
) -> Table:
    """Samples every 100 ms with constant power, and a counter that advances by `energy_mj`."""
    ticks = np.arange(count)
    return Table.of(
        {
            "read_ns": UPTIME_NS + ticks * TICK_NS,
            "power_mw": np.full(count, power_mw, dtype=np.float64),
            "power_avg_mw": np.full(count, 300_000.0),
            "energy_mj": 5e9 + ticks * (NAN if energy_mj is None else energy_mj),
        }
    )


def measure(samples: Table, start_ticks: float, end_ticks: float) -> float:
    """The energy between two times, in ticks since the first sample."""
    starts_ns, ends_ns = (
        np.array([UPTIME_NS + round(ticks * TICK_NS)]) for ticks in (start_ticks, end_ticks)
    )
    return float(measure_energies(samples, starts_ns, ends_ns)[0])


def test_energy_is_that_of_the_counter_between_readings() -> None:
    assert measure(make_samples(), 5.25, 15.5) == pytest.approx(10.25 * 40)
    assert measure(make_samples(), 5, 15) == pytest.approx(400)


@pytest.mark.parametrize("energy_mj", [None, 0.0])
def test_energy_without_counter_is_that_of_the_mean_power(energy_mj: float | None) -> None:
    samples = make_samples(energy_mj=energy_mj)
    assert measure(samples, 5.25, 15.5) == pytest.approx(1.025 * 500)
    # Between two samples, those next to the window count.
    assert measure(samples, 5.25, 5.75) == pytest.approx(0.05 * 500)


def test_energy_without_instantaneous_power_is_that_of_the_average() -> None:
    samples = make_samples(power_mw=NAN, energy_mj=None)
    assert measure(samples, 5.25, 15.5) == pytest.approx(1.025 * 300)


def test_window_outside_the_samples_has_no_counter() -> None:
    assert measure(make_samples(), 25, 35) == pytest.approx(500)
    assert np.isnan(measure(make_samples(count=0), 1, 2))


def test_energy_does_not_depend_on_samples_far_from_the_window() -> None:
    """The harness has no others while it measures."""
    samples = make_samples()
    near = samples.at(slice(5, 17))
    assert measure(near, 5.3, 15.7) == measure(samples, 5.3, 15.7)


@pytest.mark.parametrize("method", [STUDY_V1_0, STUDY_V1_1])
def test_energies_of_windows_are_power_times_time_or_those_of_the_counter(
    method: StudyMethod,
) -> None:
    starts_ns, ends_ns = (UPTIME_NS + TICK_NS * np.array(ticks) for ticks in ([2, 6], [6, 16]))
    session: Any = SimpleNamespace(study_method=method)
    unread: Any = None
    board = BoardWindows(session, unread, np.arange(2), starts_ns, ends_ns, make_samples())
    power_w = 400 if method.climbs_by_counter else 500
    assert board.ladder_energy_j == pytest.approx([0.4 * power_w, 1.0 * power_w])


def put_in_step(study: StudyFrames, share: float) -> None:
    """Change the readings of a step of a ladder as if the samples were in step with its batches.
    The counter stays."""
    (long_point, *_) = find_points(study, MODEL, "long")
    batch = study.points["batch"].iloc[long_point]
    (step,) = (
        number
        for number in find_points(study, MODEL, "ladder")
        if study.points["batch"].iloc[number] == batch
    )
    rows = select_samples(study, [step])
    for column in ("power_mw", "power_avg_mw"):
        study.samples.loc[rows, column] = (study.samples.loc[rows, column] * share).round()


def find_rules(study: StudyFrames) -> set[str]:
    bundle = StudyBundle(Path("example"), (), study.evidence())
    rules = (ladder_broken.RULE, long_windows_elsewhere.RULE)
    return {finding.rule for rule in rules for finding in rule.judge(bundle)}


@pytest.mark.parametrize(("method", "rules"), [("1.1", set()), (None, {"Y105", "Y106"})])
def test_samples_in_step_with_batches_mislead_only_ladders_of_method_1_0(
    method: str | None, rules: set[str]
) -> None:
    study = copy_study()
    put_in_step(study, 1.2)
    (session,) = study.study["sessions"]
    if method is None:
        del session["method"]
    assert find_rules(study) == rules


def test_ladders_of_a_board_without_counter_are_climbed_by_its_samples() -> None:
    study = copy_study()
    study.samples["energy_mj"] = np.nan
    assert find_rules(study) == set()
    put_in_step(study, 1.2)
    assert find_rules(study) == {"Y105", "Y106"}
