"""The clock of a node meter is placed from simulated nodes around every committed trace."""

from dataclasses import replace
from zlib import crc32

import numpy as np
import pytest
from support.rules.simulated_loads import LOAD_METERS, LOADS, Load, place_on_load
from support.rules.simulated_nodes import (
    METERS,
    NOISY,
    QUIET,
    Meter,
    Node,
    Place,
    place_meter,
    read_committed_traces,
    read_node,
)

from rules.metrics.energy import Trace
from rules.metrics.node import clock
from rules.metrics.node.clock import (
    MAX_RATIO,
    NEIGHBOURHOOD_S,
    MeterReadings,
    estimate_clock,
)

MIN_DECIDED = 0.9
MS_STAMPS, FAST, WHOLE_SECONDS, EVERY_5_S = METERS
EPOCHS, _, PAUSES, *_ = LOADS
INSTANTS = next(meter for meter in LOAD_METERS if meter.name == "5 s, mean of 0.1 s")


@pytest.fixture
def one_board() -> list[Trace]:
    """The trace of the first committed run of one board."""
    return next(traces for traces in read_committed_traces().values() if len(traces) == 1)


def place_all(node: Node, meter: Meter, boards: tuple[int, ...]) -> list[Place]:
    """Place the meter around each committed trace of so many boards."""
    return [
        # By name, so that a new bundle does not change the nodes around the others.
        place_meter(traces, node, meter, crc32(name.encode()))
        for name, traces in read_committed_traces().items()
        if len(traces) in boards
    ]


@pytest.mark.parametrize(
    ("node", "meter", "boards", "largest_error_s"),
    [
        (QUIET, MS_STAMPS, (1,), 0.03),
        (QUIET, MS_STAMPS, (2, 4), 0.05),
        (NOISY, MS_STAMPS, (4,), 0.05),
        (QUIET, FAST, (1, 2, 4), 0.05),
        (NOISY, FAST, (4,), 0.05),
        (QUIET, WHOLE_SECONDS, (1, 2, 4), 0.6),
        (NOISY, WHOLE_SECONDS, (4,), 0.6),
        (QUIET, EVERY_5_S, (1, 2, 4), 0.6),
    ],
)
def test_nearly_every_offset_is_decided_and_right(
    node: Node, meter: Meter, boards: tuple[int, ...], largest_error_s: float
) -> None:
    places = place_all(node, meter, boards)
    decided = [place for place in places if place.estimate.decided]
    # Stamps in whole seconds that pass a second during the run may leave a run undecided.
    assert len(decided) >= max(1, MIN_DECIDED * len(places))
    assert max(place.error_s for place in decided) <= largest_error_s


@pytest.mark.parametrize("meter", METERS, ids=lambda meter: meter.name)
@pytest.mark.parametrize("node", [QUIET, NOISY], ids=lambda node: node.name)
def test_the_bound_holds_the_error_of_every_decided_offset(node: Node, meter: Meter) -> None:
    decided = [p for p in place_all(node, meter, (1, 2, 4)) if p.estimate.decided]
    # Few changes of a short run are seen every 5 s, and noise hides most of them.
    assert len(decided) >= (1 if (node, meter) == (NOISY, EVERY_5_S) else 10)
    assert all(place.error_s <= place.estimate.bound_s for place in decided)


@pytest.mark.parametrize("load", LOADS, ids=lambda load: load.name)
def test_the_bound_holds_the_error_on_loads_of_all_kinds(load: Load) -> None:
    """A sample of benchmarks/node_power/clock_coverage.py."""
    places = [place_on_load(load, QUIET, meter, seed) for meter in LOAD_METERS for seed in range(3)]
    assert all(p.error_s <= p.estimate.bound_s for p in places if p.estimate.decided)


def test_short_pauses_that_a_meter_sees_now_and_then_place_no_clock_wrongly() -> None:
    """They fit at a multiple of their distance as well, by the few that happened to be seen."""
    places = [place_on_load(PAUSES, QUIET, INSTANTS, seed, 7.3) for seed in range(40)]
    wrong = [place for place in places if place.error_s > place.estimate.bound_s]
    assert sum(place.estimate.ratio < MAX_RATIO for place in wrong) >= 5
    assert not any(place.estimate.decided for place in wrong)
    assert sum(place.estimate.decided for place in places) <= 4


def test_the_bound_follows_the_interval_beside_the_averaging() -> None:
    """A meter that sees a fiftieth of the time places the same load less well."""
    often, seldom = (
        np.median([place_on_load(EPOCHS, NOISY, meter, seed).estimate.bound_s for seed in range(5)])
        for meter in (LOAD_METERS[0], INSTANTS)
    )
    assert seldom > 2 * often


def test_an_offset_at_the_edge_of_the_search_is_not_decided(one_board: list[Trace]) -> None:
    readings, _ = read_node(one_board, QUIET, MS_STAMPS, 20.0, 1)
    assert estimate_clock(readings, one_board, search_s=24.0).decided
    assert not estimate_clock(readings, one_board, search_s=22.0).decided


def test_a_shift_that_explains_little_is_not_decided(
    monkeypatch: pytest.MonkeyPatch, one_board: list[Trace]
) -> None:
    readings, _ = read_node(one_board, QUIET, MS_STAMPS, 0.0, 1)
    estimate = estimate_clock(readings, one_board)
    assert estimate.decided
    monkeypatch.setattr(clock, "MAX_MISFIT", 0.9 * estimate.misfit)
    assert not estimate_clock(readings, one_board).decided


def test_an_offset_outside_the_search_is_not_decided(one_board: list[Trace]) -> None:
    readings, _ = read_node(one_board, QUIET, MS_STAMPS, 90.0, 1)
    estimate = estimate_clock(readings, one_board)
    assert estimate is not None
    assert not estimate.decided
    assert estimate_clock(readings, one_board, search_s=120.0).offset_s == pytest.approx(
        90, abs=0.05
    )


def test_a_node_whose_power_has_nothing_of_the_accelerators_is_not_decided() -> None:
    others = [traces for traces in read_committed_traces().values() if len(traces) == 1][1]
    for seed in range(10):
        readings, _ = read_node(others, NOISY, MS_STAMPS, 0.0, seed)
        noise_w = np.random.default_rng(seed).normal(800.0, 30.0, len(readings.power_w))
        estimate = estimate_clock(replace(readings, power_w=noise_w), others)
        assert estimate is not None
        assert not estimate.decided, estimate


def test_a_run_inside_the_log_of_a_day_is_placed(one_board: list[Trace]) -> None:
    """The clock of an imported log may be an hour off, by a time zone."""
    readings, truth_s = read_node(one_board, QUIET, MS_STAMPS, -3600.0, 5)
    idle_w = np.random.default_rng(5).normal(readings.power_w[0], 10.0, 86_400)
    start_ns = readings.times_ns[0] - 40_000 * 10**9
    idle_ns = start_ns + np.arange(86_400) * 10**9
    outside = (idle_ns < readings.times_ns[0]) | (idle_ns > readings.times_ns[-1])
    order = np.argsort(np.concatenate((idle_ns[outside], readings.times_ns)), kind="stable")
    day = MeterReadings(
        np.concatenate((idle_ns[outside], readings.times_ns))[order],
        np.concatenate((idle_w[outside], readings.power_w))[order],
        1.0,
        0.001,
    )
    estimate = estimate_clock(day, one_board, search_s=4000.0)
    assert estimate is not None
    assert estimate.decided
    assert estimate.offset_s == pytest.approx(truth_s, abs=0.05)


def test_two_equal_runs_in_a_log_are_not_decided(one_board: list[Trace]) -> None:
    first, _ = read_node(one_board, QUIET, MS_STAMPS, 0.0, 7)
    again_ns = first.times_ns + (first.times_ns[-1] - first.times_ns[0]) + 10**9
    both = MeterReadings(
        np.concatenate((first.times_ns, again_ns)), np.tile(first.power_w, 2), 1.0, 0.001
    )
    estimate = estimate_clock(both, one_board, search_s=600.0)
    assert estimate is not None
    assert not estimate.decided
    near = estimate_clock(both, one_board)
    assert near is not None
    assert near.decided
    assert abs(near.offset_s) < 0.05


@pytest.mark.parametrize("count", [0, 1, 2, 30])
def test_few_readings_give_no_estimate(count: int, one_board: list[Trace]) -> None:
    readings, _ = read_node(one_board, QUIET, MS_STAMPS, 0.0, 1)
    few = MeterReadings(readings.times_ns[:count], readings.power_w[:count], 1.0)
    assert estimate_clock(few, one_board) is None


def test_readings_without_an_accelerator_give_no_estimate(one_board: list[Trace]) -> None:
    readings, _ = read_node(one_board, QUIET, MS_STAMPS, 0.0, 1)
    assert estimate_clock(readings, []) is None


@pytest.mark.parametrize("shift_s", [10_000.0, 1e9])
def test_readings_of_another_day_give_no_estimate(shift_s: float, one_board: list[Trace]) -> None:
    readings, _ = read_node(one_board, QUIET, MS_STAMPS, 0.0, 1)
    elsewhere = replace(readings, times_ns=readings.times_ns + int(shift_s * 1e9))
    assert estimate_clock(elsewhere, one_board) is None


def test_readings_with_one_stamp_give_no_estimate(one_board: list[Trace]) -> None:
    readings, _ = read_node(one_board, QUIET, MS_STAMPS, 0.0, 1)
    stuck = replace(readings, times_ns=np.full_like(readings.times_ns, readings.times_ns[0]))
    assert estimate_clock(stuck, one_board) is None


def test_a_constant_node_gives_no_estimate(one_board: list[Trace]) -> None:
    readings, _ = read_node(one_board, QUIET, MS_STAMPS, 0.0, 1)
    constant = replace(readings, power_w=np.full_like(readings.power_w, 700.0))
    assert estimate_clock(constant, one_board) is None


def test_a_trace_of_many_days_takes_bounded_memory(one_board: list[Trace]) -> None:
    trace: Trace = one_board[0]
    times_s = trace.usable_power_times_s.copy()
    times_s[-1] = 1e7
    readings, _ = read_node(one_board, QUIET, MS_STAMPS, 2.0, 1)
    estimate = estimate_clock(readings, [replace(trace, usable_power_times_s=times_s)])
    assert estimate is not None
    assert estimate.offset_s == pytest.approx(2.0, abs=0.05)


def test_rivals_of_an_estimate_are_outside_its_neighbourhood(one_board: list[Trace]) -> None:
    """A meter that averages over 2.5 s has a wide minimum that is still decided."""
    slow = Meter("averages over 2.5 s", 1.0, 2.5, 0.001)
    assert slow.averaging_s < NEIGHBOURHOOD_S
    assert place_meter(one_board, QUIET, slow, 3).estimate.decided
