"""The course of a run on one node: means over steps, of boards and of the node by its meters."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import copy_evidence
from support.bundles import rederive

from rules.bundle import Bundle
from rules.metrics.energy import build_trace, trapezoid_energies
from rules.metrics.node.course import Course, compute_course
from rules.testing.node_power import add_node_power

STEPS = 200


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    evidence = copy_evidence()
    add_node_power(evidence)
    rederive(evidence)
    return Bundle(Path("bundle"), (), evidence.evidence())


@pytest.fixture(scope="module")
def course(bundle: Bundle) -> Course:
    return compute_course(bundle.samples_of, bundle.feed_traces, STEPS)


def test_steps_cover_the_readings_of_the_boards(bundle: Bundle, course: Course) -> None:
    times_ns = np.concatenate([t.ints("read_ns") for t in bundle.samples_of.values()])
    assert course.zero_ns == times_ns.min()
    assert course.starts_s[0] == 0 and len(course.starts_s) == STEPS
    assert course.step_s * STEPS == pytest.approx((times_ns.max() - times_ns.min()) / 1e9)
    assert set(course.boards_w) == set(bundle.samples_of)


def test_power_of_a_board_over_all_steps_is_its_energy(bundle: Bundle, course: Course) -> None:
    for uuid, power_w in course.boards_w.items():
        trace = build_trace(bundle.samples_of[uuid])
        times_s = trace.usable_power_times_s
        energy_j = trapezoid_energies(times_s, trace.usable_power_w, times_s[:1], times_s[-1:])
        assert np.sum(power_w) * course.step_s == pytest.approx(energy_j[0], rel=5e-3)
    assert course.sum_of_boards_w == pytest.approx(sum(course.boards_w.values()))


def test_power_of_the_node_is_the_energy_of_all_feeds(bundle: Bundle, course: Course) -> None:
    assert course.node_w is not None
    read = np.flatnonzero(np.isfinite(course.node_w))
    # The meter was read before and after the boards.
    assert len(read) >= STEPS - 2
    first, last = int(read[0]), int(read[-1])
    start_ns = course.zero_ns + round(course.starts_s[first] * 1e9)
    end_ns = course.zero_ns + round((course.starts_s[last] + course.step_s) * 1e9)
    energy_j = sum(
        float(feed.integrate_power([start_ns], [end_ns])[0]) for feed in bundle.feed_traces
    )
    assert np.nansum(course.node_w) * course.step_s == pytest.approx(energy_j, rel=1e-6)
    # A host of 450 W behind a supply of 96 %.
    loaded = course.sum_of_boards_w > 1000
    expected_w = (course.sum_of_boards_w[loaded] + 450) / 0.96
    assert course.node_w[loaded].mean() == pytest.approx(expected_w.mean(), rel=0.02)


def test_steps_that_a_feed_does_not_cover_are_unknown(bundle: Bundle) -> None:
    evidence = copy_evidence()
    add_node_power(evidence)
    table = evidence.node_samples
    assert table is not None
    middle_ns = int(table["scheduled_ns"].median())
    is_late = (table["scheduled_ns"] > middle_ns) & (table["feed"] == "B")
    evidence.node_samples = table[~is_late].reset_index(drop=True)
    half = Bundle(Path("bundle"), (), evidence.evidence())
    power_w = compute_course(half.samples_of, half.feed_traces, STEPS).node_w
    assert power_w is not None
    # Half of the power of the node would be no power of it.
    assert np.isnan(power_w[-STEPS // 3 :]).all()
    assert np.isfinite(power_w[STEPS // 10 : STEPS // 3]).all()


def test_step_that_begins_with_the_first_reading_of_a_feed_is_known(bundle: Bundle) -> None:
    zero_ns = compute_course(bundle.samples_of, (), STEPS).zero_ns
    feeds = [
        replace(feed, zero_ns=zero_ns, times_s=feed.times_s - feed.times_s[0])
        for feed in bundle.feed_traces
    ]
    power_w = compute_course(bundle.samples_of, feeds, STEPS).node_w
    assert power_w is not None and np.isfinite(power_w[0])


def test_without_a_meter_the_power_of_the_node_is_not_known(bundle: Bundle) -> None:
    assert compute_course(bundle.samples_of, (), STEPS).node_w is None


def test_utilisation_is_the_mean_of_what_the_board_states(bundle: Bundle, course: Course) -> None:
    for uuid, percent in course.utilisation_percent.items():
        stated = bundle.samples_of[uuid].floats("util_pct")
        assert np.nanmean(percent) == pytest.approx(np.nanmean(stated), abs=1)
    evidence = copy_evidence()
    evidence.samples["util_pct"] = np.nan
    silent = Bundle(Path("bundle"), (), evidence.evidence())
    assert compute_course(silent.samples_of, (), STEPS).utilisation_percent == {}
