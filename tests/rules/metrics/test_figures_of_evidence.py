"""What the figures of a run become where its evidence has gaps, faults or nothing."""

import math
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rules.figure_parts import (
    S,
    compute_figures,
    make_batches,
    make_parts,
    make_result,
    make_samples,
    make_system,
)

from rules.bundle_format.records import REQUEST_COLUMNS, Json
from rules.bundle_format.table import Table
from rules.metrics.figures import AcceleratorFigures, EpochFigures
from rules.metrics.imbalance import Imbalance, compute_imbalance
from rules.metrics.intervals import p95
from rules.metrics.run import (
    MetricsError,
    agreement,
    counter_passes,
    min_peak_share,
    relative_difference,
    widen_limit,
)
from rules.protocol import CURRENT
from rules.testing.frames import table_of
from rules.workloads import workloads


@pytest.mark.parametrize("seed", range(5))
def test_windows_that_touch_count_as_one(seed: int) -> None:
    """Bit for bit, as one window has no edge to interpolate at in its middle."""
    random = np.random.default_rng(seed)
    table = make_samples("a", random.uniform(100, 700, 201))
    edges_s = [round(float(at), 9) for at in np.sort(random.uniform(1, 19, 12))]
    touching = pairwise(edges_s)
    (part,) = make_parts(
        make_result("a"), table, make_batches((1, 0, 0, edges_s[0], edges_s[-1], 11))
    )
    (joined,) = make_parts(
        make_result("a"),
        table,
        make_batches(*((1, n, 0, *window, 1) for n, window in enumerate(touching))),
    )
    assert (joined.energy_j_trapezoid, joined.energy_j_counter, joined.active_s, joined.items) == (
        part.energy_j_trapezoid,
        part.energy_j_counter,
        part.active_s,
        part.items,
    )
    assert joined.places.tolist() == part.places.tolist()


@pytest.mark.parametrize("gap_s", [0.0, 0.3])
def test_epochs_that_touch_stay_apart(gap_s: float) -> None:
    table = make_samples("a", np.linspace(100, 700, 201))
    windows = make_batches((1, 0, 0, 2, 5, 1), (1, 1, 0, 6, 8, 1), (2, 0, 0, 8 + gap_s, 10, 1))
    parts = make_parts(make_result("a"), table, windows)
    separate_parts = [
        make_parts(make_result("a"), table, windows[windows["epoch"] == epoch])[0]
        for epoch in (1, 2)
    ]
    for part, expected in zip(parts, separate_parts, strict=True):
        assert (part.epoch, part.active_s) == (expected.epoch, expected.active_s)
        assert part.energy_j_trapezoid == expected.energy_j_trapezoid
        assert part.places.tolist() == expected.places.tolist()


def test_failed_reads_are_bridged_by_a_straight_line() -> None:
    power = 100 + 10 * np.arange(21.0)
    table = make_samples("a", power)
    table.loc[[7, 8, 12], ["power_mw", "energy_mj"]] = np.nan
    part = make_parts(make_result("a"), table, make_batches((1, 0, 0, 0.5, 1.5, 1)))[0]
    assert part.energy_j_trapezoid == pytest.approx(200.0)
    assert len(part.samples) == 11


def test_average_serves_where_there_is_no_instantaneous_power() -> None:
    table = make_samples("a", np.full(21, 300.0))
    table["power_avg_mw"], table["power_mw"] = table["power_mw"], np.nan
    part = make_parts(make_result("a"), table, make_batches((1, 0, 0, 0.5, 1.5, 1)))[0]
    assert part.averaged
    assert part.energy_j_trapezoid == pytest.approx(300)
    assert agreement(CURRENT, part.averaged) == CURRENT.averaged


@pytest.mark.parametrize(
    ("factor", "record"),
    [
        (1.0, "counter"),
        (1.009, "counter"),
        (0.991, "counter"),
        (1.011, "trapezoid"),
        (0.98, "trapezoid"),
        (0.0, "trapezoid"),
    ],
)
def test_energy_of_record_follows_the_counters_self_test(factor: float, record: str) -> None:
    table = make_samples("a", np.full(301, 500.0))
    table["energy_mj"] *= factor
    result = make_result("a")
    figures = compute_figures(
        result, make_system("a"), make_parts(result, table, make_batches((1, 0, 0, 5, 25, 100)))
    )
    assert figures.energy_of_record == record
    expected_j = 500 * 20 * (factor if record == "counter" else 1)
    assert figures.epochs[0].joules_per_item == pytest.approx(expected_j / 100)


def test_limit_grows_with_the_sampling_error_of_the_readings() -> None:
    """Power of 400 and 600 W in turn: 201 readings have a standard deviation of 100.2 W, their mean
    a standard error of 7.07 W, 1.41 % of 500 W."""
    table = make_samples("a", np.where(np.arange(301) % 2, 600.0, 400.0))
    parts = make_parts(make_result("a"), table, make_batches((1, 0, 0, 5, 25, 100)))
    assert len(parts[0].samples) == 201
    share = parts[0].sampling_error_j / 10_000
    assert share == pytest.approx(0.0141, abs=5e-5)
    assert widen_limit(0.02, parts) == pytest.approx(math.hypot(0.02, 3 * share), rel=1e-3)
    assert widen_limit(0.02, parts, "1.8.0") == 0.02
    table["energy_mj"] *= 1.03
    parts = make_parts(make_result("a"), table, make_batches((1, 0, 0, 5, 25, 100)))
    assert counter_passes(parts, CURRENT) and not counter_passes(parts, CURRENT, "1.8.0")


def test_steady_and_averaged_readings_have_no_sampling_error() -> None:
    windows = make_batches((1, 0, 0, 5, 25, 100))
    (steady,) = make_parts(make_result("a"), make_samples("a", np.full(301, 500.0)), windows)
    varying = make_samples("a", np.where(np.arange(301) % 2, 600.0, 400.0))
    varying["power_avg_mw"], varying["power_mw"] = varying["power_mw"], np.nan
    (averaged,) = make_parts(make_result("a"), varying, windows)
    assert widen_limit(0.02, [steady]) == widen_limit(0.02, [averaged]) == 0.02


def test_sampling_errors_of_epochs_average_out_over_a_run() -> None:
    table = make_samples("a", np.where(np.arange(301) % 2, 600.0, 400.0))
    windows = make_batches((1, 0, 0, 5, 15, 100), (2, 0, 0, 15, 25, 100))
    parts = make_parts(make_result("a"), table, windows)
    one_epoch, run = widen_limit(0.0, parts[:1]), widen_limit(0.0, parts)
    assert run == pytest.approx(one_epoch / math.sqrt(2), rel=0.01)


def test_counter_that_stands_still_in_one_scored_epoch_fails_its_self_test() -> None:
    """Epoch 2 has 0.5 % of the energy: over the run the counter agrees within 1 % all the same."""
    table = make_samples("a", np.full(301, 500.0))
    frozen = table["read_ns"].between(22 * S, 23 * S)
    table.loc[frozen, "energy_mj"] = table.loc[frozen, "energy_mj"].iloc[0]
    windows = make_batches((1, 0, 0, 1, 21, 100), (2, 0, 0, 22.1, 22.2, 1))
    parts = make_parts(make_result("a"), table, windows)
    assert [part.energy_j_counter for part in parts] == [pytest.approx(10_000), 0.0]
    assert not counter_passes(parts, CURRENT)
    assert counter_passes(parts[:1], CURRENT)


@pytest.mark.parametrize(("factor", "passes"), [(1.015, True), (1.025, False)])
def test_one_averaged_board_loosens_the_counters_self_test(factor: float, passes: bool) -> None:
    """Averaged power may differ from the counter by 2 %, instantaneous power by 1 %."""
    instantaneous, averaged = (make_samples(name, np.full(301, 500.0)) for name in "ab")
    averaged["power_avg_mw"], averaged["power_mw"] = averaged["power_mw"], np.nan
    table = pd.concat([instantaneous, averaged], ignore_index=True)
    table["energy_mj"] *= factor
    windows = make_batches((1, 0, 0, 1, 21, 1), (1, 0, 1, 1, 21, 1))
    parts = make_parts(make_result("a", "b"), table, windows)
    assert [part.averaged for part in parts] == [False, True]
    assert counter_passes(parts, CURRENT) is passes
    assert not counter_passes(parts[:1], CURRENT)


def test_mean_power_at_the_tolerance_of_the_cap_keeps_to_it() -> None:
    table, windows = make_samples("a", np.full(301, 510.0)), make_batches((1, 0, 0, 1, 21, 100))
    parts = make_parts(make_result("a"), table, windows)
    mean_w = compute_figures(make_result("a"), make_system("a"), parts).observed[0].mean_power_w
    cap_w = mean_w / CURRENT.cap_tolerance
    candidates_w = (cap_w, np.nextafter(cap_w, 0), np.nextafter(cap_w, 1000))
    cap_w = float(next(w for w in candidates_w if w * CURRENT.cap_tolerance == mean_w))
    for declared_w, enforced in ((cap_w, True), (cap_w - 0.001, False)):
        figures = compute_figures(make_result("a", cap_w=declared_w), make_system("a"), parts)
        assert figures.observed[0].cap_enforced is enforced


def test_least_share_of_the_peak_of_requests_that_are_not_the_workloads() -> None:
    """An output token of another request takes what any token of the workload's request takes."""
    size = workloads()["llama3-8b-serve"].full
    flops = size.min_flops_per_item or size.flops_per_item
    tokens = size.input_shape[0], size.items_per_sample
    share = min_peak_share(1000.0, size, 989.4, as_defined=False)
    assert share == pytest.approx(1000 * flops * tokens[1] / sum(tokens) / 989.4e12)


def test_no_counter_and_unknown_board_leave_figures_empty() -> None:
    table = make_samples("a", np.full(301, 500.0), energy_mj=np.nan)
    result = make_result("a")
    figures = compute_figures(
        result,
        make_system("a", name="Example"),
        make_parts(result, table, make_batches((1, 0, 0, 5, 25, 100))),
    )
    assert figures.energy_of_record == "trapezoid"
    assert figures.headline.energy_j_counter is None
    assert figures.headline.mfu is None
    assert figures.observed[0].cap_enforced is None


def test_difference_is_signed_and_infinite_for_a_counter_that_stands_still() -> None:
    assert relative_difference(100, 102) == pytest.approx(0.02)
    assert relative_difference(100, 99) == pytest.approx(-0.01)
    assert relative_difference(0, 5) == math.inf


# What the evidence does not allow

FLAT = np.full(101, 500.0)


@pytest.mark.parametrize(
    ("table", "windows", "reason"),
    [
        (make_samples("b", FLAT), [(1, 0, 0, 1, 2, 1)], "accelerator a has no samples"),
        (
            make_samples("a", FLAT),
            [(1, 0, 7, 1, 2, 1)],
            "rank 7 has batches, but result.json does not list it",
        ),
        (make_samples("a", FLAT), [(1, 0, 0, 1, 1, 1)], "no active time"),
        (make_samples("a", FLAT), [(1, 0, 0, 9, 10.1, 1)], "outside the samples"),
        (make_samples("a", FLAT)[::-1], [(1, 0, 0, 1, 2, 1)], "does not rise"),
        (make_samples("a", FLAT)[:1], [(1, 0, 0, 0, 0, 1)], "fewer than two"),
        (
            make_samples("a", FLAT, power_mw=np.nan),
            [(1, 0, 0, 1, 2, 1)],
            "fewer than two power readings",
        ),
        (
            make_samples("a", FLAT, power_mw=np.where(np.arange(101) == 50, 5e5, np.nan)),
            [(1, 0, 0, 1, 2, 1)],
            "fewer than two power readings",
        ),
        (make_samples("a", FLAT), [], "no batches"),
    ],
)
def test_evidence_that_gives_no_parts(
    table: pd.DataFrame, windows: list[tuple], reason: str
) -> None:
    with pytest.raises(MetricsError, match=reason):
        make_parts(make_result("a"), table, make_batches(*windows))


def make_requests(*rows: tuple[int, ...]) -> Table:
    """Requests of rank 0 from epoch, number, and sending, first token and end in s; 100 tokens in,
    11 out."""
    table = [(e, n, 0, *(int(t * 1e9) for t in times), 100, 11) for e, n, *times in rows]
    return table_of(pd.DataFrame(table, columns=list(REQUEST_COLUMNS)).astype("int64"))


def test_waiting_times_are_those_of_requests_that_end_in_scored_epochs() -> None:
    result = make_result("a")
    parts = make_parts(
        result,
        make_samples("a", FLAT),
        make_batches((0, 0, 0, 1, 2, 11), (1, 0, 0, 2, 6, 11), (1, 1, 0, 3, 7, 11)),
    )
    served = compute_figures(
        result,
        make_system("a"),
        parts,
        make_requests((0, 0, 0.0, 0.9, 2.0), (1, 1, 0.5, 1.0, 6.0), (1, 2, 3.0, 3.3, 7.0)),
    )
    assert served.serving is not None
    assert served.serving.requests == 2
    assert served.serving.input_tokens_per_s == pytest.approx(200 / 5)
    assert served.serving.ttft_s.p50 == pytest.approx(0.4)
    assert served.serving.tpot_s.p50 == pytest.approx((0.5 + 0.37) / 2)
    assert vars(served.serving.latency_s) == pytest.approx(
        {"p50": 4.75, "p95": 4.0 + 0.95 * 1.5, "p99": 4.0 + 0.99 * 1.5}
    )


def make_epoch(number: int, *accelerators: tuple[str, float, float | None]) -> EpochFigures:
    """An epoch of accelerators with their power in W and clock in MHz."""
    figures = (
        AcceleratorFigures(0, name, 1, 30.0, None, 1.0, power_w, None, None, clock_mhz, None)
        for name, power_w, clock_mhz in accelerators
    )
    return EpochFigures(
        number, number > 0, 1, 30.0, 1.0, 1.0, 1.0, 1.0, 1.0, None, 1.0, None, tuple(figures)
    )


def test_imbalance_is_the_spread_over_the_mean_of_the_accelerators() -> None:
    epochs = [make_epoch(n, ("a", 600 + n, None), ("b", 630 + 3 * n, 1500.0)) for n in range(3)]
    assert compute_imbalance(epochs) == Imbalance(0.0, pytest.approx(33 / 618), None)
    assert compute_imbalance([make_epoch(1, ("a", 600, 1500.0))]) is None
    silent = [make_epoch(1, ("a", 600, 0.0), ("b", 600, 0.0))]
    assert compute_imbalance(silent) == Imbalance(0.0, 0.0, None)


def test_no_scored_epoch_gives_no_figures() -> None:
    result = make_result("a")
    parts = make_parts(result, make_samples("a", FLAT), make_batches((0, 0, 0, 1, 2, 1)))
    with pytest.raises(MetricsError, match="scored"):
        compute_figures(result, make_system("a"), parts)


@pytest.mark.parametrize("change", [{"workload": "unheard-of"}, {"size": "tiny"}])
def test_unknown_workload_gives_no_figures(change: Json) -> None:
    result = make_result("a") | change
    parts = make_parts(result, make_samples("a", FLAT), make_batches((1, 0, 0, 1, 2, 1)))
    with pytest.raises(MetricsError, match="rule book has no"):
        compute_figures(result, make_system("a"), parts)


# Percentiles


@given(st.lists(st.floats(0, 1e4), min_size=1, max_size=400))
def test_p95_is_that_of_numpy_bit_for_bit(values: list[float]) -> None:
    assert p95(np.array(values)) == np.percentile(values, 95)


@pytest.mark.parametrize("failed", [(), (30, 31)])
def test_clocks_of_an_epoch_are_the_means_of_its_readings(failed: tuple[int, ...]) -> None:
    sm_mhz, mem_mhz = 1000.0 + np.arange(201), 2000.0 + 2 * np.arange(201)
    sm_mhz[list(failed)] = np.nan
    table = make_samples("a", np.full(201, 500.0), sm_mhz=sm_mhz, mem_mhz=mem_mhz)
    parts = make_parts(
        make_result("a"), table, make_batches((0, 0, 0, 0.0, 1.0, 1), (1, 1, 0, 2.0, 6.0, 1))
    )
    _, epoch = compute_figures(make_result("a"), make_system("a"), parts).epochs
    (board,) = epoch.accelerators
    assert board.mean_sm_mhz == pytest.approx(np.nanmean(sm_mhz[20:61]), rel=1e-12)
    assert board.mean_mem_mhz == pytest.approx(np.mean(mem_mhz[20:61]), rel=1e-12)


def test_epochs_are_in_their_order_also_where_some_are_missing() -> None:
    table = make_samples("a", np.full(201, 500.0))
    windows = ((8, 0, 0, 2.0, 6.0, 1), (1, 1, 0, 8.0, 12.0, 1), (16, 2, 0, 14.0, 18.0, 1))
    parts = make_parts(make_result("a"), table, make_batches(*windows))
    epochs = compute_figures(make_result("a"), make_system("a"), parts).epochs
    assert [epoch.epoch for epoch in epochs] == [1, 8, 16]


def test_counter_of_a_board_that_draws_next_to_nothing_passes() -> None:
    table = make_samples("a", np.full(201, 0.05))
    windows = ((1, 0, 0, 2.0, 6.0, 1), (2, 1, 0, 8.0, 12.0, 1))
    parts = make_parts(make_result("a"), table, make_batches(*windows))
    assert max(part.energy_j_counter or 0.0 for part in parts) < 1
    assert counter_passes(parts, CURRENT)
