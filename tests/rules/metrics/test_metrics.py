"""The arithmetic on power, energy and throughput against what can be worked out by hand or in
another way."""

import json
import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from conftest import fresh_evidence
from hypothesis import given
from hypothesis import strategies as st

from rules.bundle_format.records import BATCH_COLUMNS, REQUEST_COLUMNS, SAMPLE_COLUMNS, Json
from rules.bundle_format.table import Floats, Table
from rules.declarations import RunDeclaration, SystemDeclaration
from rules.metrics import run as run_metrics
from rules.metrics.energy import counter_energies, trapezoid_energies
from rules.metrics.figures import (
    FIGURES,
    AcceleratorFigures,
    EpochFigures,
    Estimate,
    ObservedPower,
    RunFigures,
    estimate_mean,
)
from rules.metrics.figures_json import figures_from_json, figures_to_json
from rules.metrics.imbalance import Imbalance, compute_imbalance
from rules.metrics.intervals import are_inside, join_intervals, p95
from rules.metrics.parts import Part, split_into_parts
from rules.metrics.run import (
    MetricsError,
    agreement,
    counter_passes,
    min_peak_share,
    relative_difference,
)
from rules.protocol import CURRENT
from rules.testing.frames import table_of
from rules.workloads import workloads

S = 1_000_000_000
STEP_NS = S // 10


def array(*values: float) -> Floats:
    return np.array(values, dtype=np.float64)


def samples(accelerator: str, power_w: Floats, zero_ns: int = 0, **columns: object) -> pd.DataFrame:
    """Samples every 100 ms; the counter is the exact integral of the piecewise linear power."""
    times_ns = zero_ns + STEP_NS * np.arange(len(power_w))
    energy_j = np.concatenate(([0.0], np.cumsum(0.1 * (power_w[1:] + power_w[:-1]) / 2)))
    empty = dict.fromkeys(SAMPLE_COLUMNS, np.nan)
    known = {
        "scheduled_ns": times_ns,
        "read_ns": times_ns,
        "node": "n",
        "accelerator": accelerator,
        "power_state": "P0",
    }
    table = (
        empty
        | known
        | {"power_mw": power_w * 1e3, "energy_mj": energy_j * 1e3, "status": "ok"}
        | columns
    )
    return pd.DataFrame(table)[list(SAMPLE_COLUMNS)]


def compute_figures(
    result: Json, system: Json, parts: Sequence[Part], requests: Table | None = None
) -> RunFigures:
    """The figures of JSON documents."""
    run, nodes = RunDeclaration.from_document(result), SystemDeclaration.from_document(system)
    return run_metrics.compute_figures(run, nodes, parts, requests)


def peak_flops(result: Json, system: Json) -> float | None:
    """The dense peak in FLOP/s of JSON documents."""
    run, nodes = RunDeclaration.from_document(result), SystemDeclaration.from_document(system)
    return run_metrics.peak_flops(run, nodes)


def parts_of(result: Json, samples: pd.DataFrame, batches: pd.DataFrame) -> list[Part]:
    return split_into_parts(result, table_of(samples), table_of(batches))


def batches(*windows: tuple[int, int, int, float, float, int]) -> pd.DataFrame:
    """Windows as (epoch, batch, rank, start in s, end in s, items)."""
    rows = [
        (e, b, r, round(start * S), round(end * S), items) for e, b, r, start, end, items in windows
    ]
    return pd.DataFrame(rows, columns=list(BATCH_COLUMNS)).astype("int64")


def result(*accelerators: str, cap_w: float | None = None) -> Json:
    return {
        "protocol": CURRENT.version,
        "workload": "resnet50-train",
        "size": "full",
        "implementation": {"precision": "bf16"},
        "settings": {},
        "power": {"cap_w": cap_w},
        "ranks": [
            {"rank": r, "node": "n", "accelerators": [a]} for r, a in enumerate(accelerators)
        ],
    }


def system(*accelerators: str, name: str = "NVIDIA H200") -> Json:
    return {
        "nodes": [{"name": "n", "accelerators": [{"uuid": a, "name": name} for a in accelerators]}]
    }


# Energy of known curves


@pytest.mark.parametrize(
    ("start", "end"), [(2.0, 8.0), (0.0, 10.0), (0.033, 9.957), (4.01, 4.03), (3.05, 3.15)]
)
def test_trapezoid_of_a_constant_is_power_times_time(start: float, end: float) -> None:
    times = np.arange(0, 10.05, 0.1)
    energy = trapezoid_energies(times, np.full(len(times), 700.0), array(start), array(end)).sum()
    assert energy == pytest.approx(700 * (end - start), rel=1e-12)


@pytest.mark.parametrize(("start", "end"), [(2.0, 8.0), (0.033, 9.957), (4.01, 4.03), (3.05, 3.15)])
def test_trapezoid_of_a_ramp_is_its_integral_also_between_samples(start: float, end: float) -> None:
    times = np.arange(0, 10.05, 0.1)
    energy = trapezoid_energies(times, 100 + 50 * times, array(start), array(end)).sum()
    assert energy == pytest.approx(100 * (end - start) + 25 * (end**2 - start**2), rel=1e-12)


def test_trapezoid_of_a_square_wave_with_samples_at_its_edges() -> None:
    times = array(0, 1, 1.000001, 2, 2.000001, 3)
    power = array(100, 100, 600, 600, 100, 100)
    energy = trapezoid_energies(times, power, array(0.5), array(2.5)).sum()
    assert energy == pytest.approx(0.5 * 100 + 1 * 600 + 0.5 * 100, rel=1e-5)


def test_trapezoid_over_uneven_samples() -> None:
    times, power = array(0, 1, 4, 4.5), array(100, 300, 0, 200)
    assert trapezoid_energies(times, power, array(0.5), array(2.5)).sum() == pytest.approx(
        0.5 * (200 + 300) / 2 + 1.5 * (300 + 150) / 2
    )


def test_energy_up_to_a_sample_is_the_sum_of_the_steps_before_it() -> None:
    """Bit for bit: at a sample nothing is interpolated."""
    random = np.random.default_rng(3)
    times, power = np.cumsum(random.uniform(0.05, 0.2, 200)), random.uniform(100, 700, 200)
    steps_j = (times[1:] - times[:-1]) * (power[1:] + power[:-1]) / 2
    ends = times[1:]
    energies = trapezoid_energies(times, power, np.full(len(ends), times[0]), ends)
    assert energies.tolist() == np.cumsum(steps_j).tolist()


def test_counter_is_interpolated_at_the_edges() -> None:
    times, counter = array(0, 1, 2, 3), array(10, 110, 310, 310)
    assert counter_energies(times, counter, array(0.25), array(2.5)).sum() == pytest.approx(
        310 - 35
    )
    assert counter_energies(
        times, counter, array(0.0, 2.0), array(0.5, 3.0)
    ).sum() == pytest.approx(50)


def test_no_counter_is_none_and_windows_outside_are_refused() -> None:
    assert counter_energies(array(), array(), array(0.0), array(1.0)) is None
    assert counter_energies(array(0.0), array(5.0), array(0.0), array(0.0)) is None
    for start, end in ((-0.001, 1.0), (0.0, 2.001)):
        with pytest.raises(MetricsError, match="outside the samples"):
            trapezoid_energies(array(0, 2), array(1, 1), array(start), array(end))
        with pytest.raises(MetricsError, match="outside the samples"):
            counter_energies(array(0, 2), array(1, 1), array(start), array(end)).sum()


# Unions of windows


@pytest.mark.parametrize(
    ("windows", "joined"),
    [
        ([(1, 2)], [(1, 2)]),
        ([(1, 2), (2, 3)], [(1, 3)]),
        ([(1, 3), (2, 4)], [(1, 4)]),
        ([(1, 9), (2, 3), (4, 5)], [(1, 9)]),
        ([(1, 9), (2, 3), (8, 10), (11, 12)], [(1, 10), (11, 12)]),
        ([(5, 6), (1, 2), (3, 4)], [(1, 2), (3, 4), (5, 6)]),
        ([(1, 2), (1, 2), (1, 3)], [(1, 3)]),
    ],
)
def test_union(windows: list[tuple[float, float]], joined: list[tuple[float, float]]) -> None:
    starts, ends = join_intervals(*(array(*side) for side in zip(*windows, strict=True)))
    assert list(zip(starts, ends, strict=True)) == joined


def test_inside_has_closed_edges() -> None:
    found = are_inside(array(0, 1, 1.5, 2, 2.5, 3, 4, 5), array(1, 3), array(2, 4))
    assert found.tolist() == [False, True, True, True, False, True, True, False]


times = st.floats(0, 100, allow_nan=False)
windows = st.lists(st.tuples(times, times).map(lambda w: (min(w), max(w))), min_size=1, max_size=20)


@given(windows)
def test_union_covers_the_same_times_without_overlap(drawn: list[tuple[float, float]]) -> None:
    starts, ends = join_intervals(*(array(*side) for side in zip(*drawn, strict=True)))
    assert np.all(starts[1:] > ends[:-1])
    probes = np.array([t for w in drawn for t in (*w, sum(w) / 2)])
    assert are_inside(probes, starts, ends).all()
    edges = {t for w in drawn for t in w}
    assert set(starts) | set(ends) <= edges


# Properties of energy

powers = st.lists(st.floats(0, 1000), min_size=3, max_size=60).map(np.array)
shares = st.floats(0, 1)


@given(powers, shares, shares, shares)
def test_energy_of_a_window_is_that_of_its_two_parts(
    power: Floats, a: float, b: float, c: float
) -> None:
    at = np.arange(len(power)) * 0.1
    start, middle, end = sorted(share * at[-1] for share in (a, b, c))
    whole = trapezoid_energies(at, power, array(start), array(end)).sum()
    halves = trapezoid_energies(at, power, array(start, middle), array(middle, end)).sum()
    assert whole == pytest.approx(halves, rel=1e-9, abs=1e-6)


@given(powers, shares, shares, st.floats(0.1, 10))
def test_energy_scales_with_power(power: Floats, a: float, b: float, factor: float) -> None:
    at = np.arange(len(power)) * 0.1
    edges = array(min(a, b) * at[-1]), array(max(a, b) * at[-1])
    one, other = (trapezoid_energies(at, p, *edges).sum() for p in (power, factor * power))
    assert other == pytest.approx(factor * one, rel=1e-9, abs=1e-6)


@given(powers, st.integers(0, 2**62))
def test_figures_do_not_depend_on_the_clock(power: Floats, shift_ns: int) -> None:
    end_s = 0.1 * (len(power) - 1)
    table = batches((1, 0, 0, 0.25 * end_s, 0.75 * end_s, 10))
    here = parts_of(result("a"), samples("a", power), table)[0]
    table[["start_ns", "end_ns"]] += shift_ns
    there = parts_of(result("a"), samples("a", power, zero_ns=shift_ns), table)[0]
    assert (there.energy_j_trapezoid, there.energy_j_counter, there.active_s) == (
        here.energy_j_trapezoid,
        here.energy_j_counter,
        here.active_s,
    )


@given(powers, shares, shares)
def test_counter_and_trapezoid_agree_at_the_samples(power: Floats, a: float, b: float) -> None:
    first, last = sorted(round(share * (len(power) - 1)) for share in (a, b))
    if first == last:
        return
    part = parts_of(result("a"), samples("a", power), batches((1, 0, 0, first / 10, last / 10, 1)))[
        0
    ]
    assert part.energy_j_counter == pytest.approx(part.energy_j_trapezoid, rel=1e-9, abs=1e-6)


# Summary


def test_interval_by_students_t() -> None:
    # Ten values 1..10: mean 5.5, sd sqrt(55/6); t with 9 degrees of freedom is 2.262.
    found = estimate_mean([float(v) for v in range(1, 11)])
    sd = math.sqrt(55 / 6)
    assert (found.mean, found.n) == (5.5, 10)
    assert found.sd == pytest.approx(sd)
    assert found.ci95 == pytest.approx(
        (5.5 - 2.262 * sd / math.sqrt(10), 5.5 + 2.262 * sd / math.sqrt(10))
    )


@pytest.mark.parametrize(("n", "t"), [(2, 12.706), (3, 4.303), (16, 2.131), (17, 1.960)])
def test_quantile_by_degrees_of_freedom(n: int, t: float) -> None:
    found = estimate_mean([float(i) for i in range(n)])
    assert (found.ci95[1] - found.mean) / (found.sd / math.sqrt(n)) == pytest.approx(t)


def test_one_value_has_no_spread() -> None:
    assert estimate_mean([3.0]) == Estimate(3.0, 1, None, None)


# Parts and figures


def two_epochs(power_a_w: float, power_b_w: float, length_b_s: float) -> RunFigures:
    """Figures of two accelerators over a discarded and a scored epoch; `b` is active for another
    time than `a`."""
    table = pd.concat(
        [samples("a", np.full(301, power_a_w)), samples("b", np.full(301, power_b_w))],
        ignore_index=True,
    )
    windows = []
    for epoch, start in ((0, 1.0), (1, 15.0)):
        windows += [
            (epoch, 0, 0, start, start + 10, 1000),
            (epoch, 0, 1, start, start + length_b_s, 1000),
        ]
    one = result("a", "b", cap_w=500)
    return compute_figures(one, system("a", "b"), parts_of(one, table, batches(*windows)))


def test_two_accelerators_with_unequal_active_time() -> None:
    found = two_epochs(400, 600, 5)
    scored = found.epochs[1]
    assert [e.scored for e in found.epochs] == [False, True]
    assert scored.items_per_s_per_accelerator == pytest.approx(2000 / 15)
    assert scored.items_per_s == pytest.approx(2 * 2000 / 15)
    assert scored.joules_per_item == pytest.approx((400 * 10 + 600 * 5) / 2000)
    assert scored.mean_power_w_per_accelerator == pytest.approx(7000 / 15)
    assert scored.energy_j_counter == pytest.approx(7000)
    assert scored.energy_j_trapezoid == pytest.approx(7000)
    assert scored.mfu == pytest.approx(2000 / 15 * 24.3e9 / 989.4e12)
    assert scored.active_s == pytest.approx(7.5)
    assert [a.mean_power_w for a in scored.accelerators] == pytest.approx([400, 600])
    assert found.observed == (
        ObservedPower("a", pytest.approx(400), True),
        ObservedPower("b", pytest.approx(600), False),
    )


def test_one_rank_over_two_accelerators() -> None:
    table = pd.concat(
        [samples("a", np.full(301, 400.0)), samples("b", np.full(301, 600.0))], ignore_index=True
    )
    one = result("a", cap_w=500)
    one["ranks"][0]["accelerators"] = ["a", "b"]
    parts = parts_of(one, table, batches((1, 0, 0, 5, 10, 600), (1, 1, 0, 10, 15, 400)))
    assert [(p.rank, p.accelerator, p.items, p.active_s) for p in parts] == [
        (0, "a", 1000, 10),
        (0, "b", 1000, 10),
    ]
    found = compute_figures(one, system("a", "b"), parts)
    (epoch,) = found.epochs
    assert epoch.items == 1000, "the items of a rank count once"
    assert [a.items for a in epoch.accelerators] == [1000, 1000]
    assert epoch.active_s == pytest.approx(10)
    assert epoch.items_per_s_per_accelerator == pytest.approx(50)
    assert epoch.items_per_s == pytest.approx(100)
    assert epoch.energy_j_counter == pytest.approx(10_000)
    assert epoch.energy_j_trapezoid == pytest.approx(10_000)
    assert epoch.joules_per_item == pytest.approx(10)
    assert epoch.mean_power_w_per_accelerator == pytest.approx(500)
    assert epoch.mfu == pytest.approx(50 * 24.3e9 / 989.4e12)
    assert [(o.accelerator, o.cap_enforced) for o in found.observed] == [
        ("a", True),
        ("b", False),
    ]


def test_peak_is_that_of_the_slowest_accelerator_of_all_ranks() -> None:
    one = result("a")
    one["ranks"][0]["accelerators"] = ["a", "b"]
    of_both = system("a", "b")
    of_both["nodes"][0]["accelerators"][1]["name"] = "NVIDIA A100-SXM4-80GB"
    assert peak_flops(one, of_both) == pytest.approx(312e12)
    of_both["nodes"][0]["accelerators"][1]["name"] = "Example"
    assert peak_flops(one, of_both) is None


@given(st.floats(50, 900), st.floats(50, 900), st.floats(1, 12))
def test_identities_hold_in_every_epoch(
    power_a_w: float, power_b_w: float, length_b_s: float
) -> None:
    for epoch in two_epochs(power_a_w, power_b_w, length_b_s).epochs:
        assert epoch.joules_per_item is not None and epoch.items_per_joule is not None
        assert epoch.joules_per_item * epoch.items_per_s_per_accelerator == pytest.approx(
            epoch.mean_power_w_per_accelerator
        )
        assert epoch.joules_per_item * epoch.items_per_joule == pytest.approx(1)


def test_headline_is_the_mean_of_the_scored_epochs_of_a_whole_run() -> None:
    found = figures_from_json(fresh_evidence().result)
    for name in FIGURES:
        scored = [getattr(epoch, name) for epoch in found.scored_epochs]
        assert len(scored) == CURRENT.scored_epochs
        assert getattr(found.headline, name).mean == pytest.approx(float(np.mean(scored)))
        assert getattr(found.headline, name).sd == pytest.approx(float(np.std(scored, ddof=1)))


@pytest.mark.parametrize("serving", [False, True])
def test_figures_are_the_same_after_a_round_through_json(serving: bool) -> None:
    stated = fresh_evidence(serving=serving).result
    figures = figures_from_json(stated)
    assert (figures.serving is not None) == serving
    document = figures_to_json(figures)
    for epoch, original in zip(document["epochs"], stated["epochs"], strict=True):
        epoch |= {name: original[name] for name in ("loss", "losses") if name in original}
    assert document == {name: stated[name] for name in document}
    assert figures_from_json(stated | json.loads(json.dumps(document))) == figures


def test_extensions_of_a_result_are_no_figures() -> None:
    stated = fresh_evidence().result
    figures = figures_from_json(stated)
    for where in (
        stated["headline"],
        stated["headline"]["mfu"],
        stated["observed"][0],
        stated["epochs"][3],
        stated["epochs"][3]["figures"],
        stated["epochs"][3]["accelerators"][1],
    ):
        where["x-note"] = "ours"
    assert figures_from_json(stated) == figures


@pytest.mark.parametrize(
    "name",
    ["items_per_s", "items_per_s_per_accelerator", "mean_power_w_per_accelerator"],
)
def test_figure_that_every_run_has_is_not_null(name: str) -> None:
    stated = fresh_evidence().result
    stated["headline"][name] = None
    with pytest.raises(MetricsError, match=f"states no {name}$"):
        figures_from_json(stated)


def test_energy_of_an_epoch_against_an_independent_sum() -> None:
    evidence = fresh_evidence()
    first = evidence.result["ranks"][0]["accelerators"][0]
    own = evidence.samples[evidence.samples["accelerator"] == first]
    of_epoch = evidence.batches[(evidence.batches["epoch"] == 4) & (evidence.batches["rank"] == 0)]
    at, power = own["read_ns"].to_numpy() / 1e9, own["power_mw"].to_numpy() / 1e3
    energy = 0.0
    for start, end in of_epoch[["start_ns", "end_ns"]].to_numpy() / 1e9:
        fine = np.unique(np.concatenate(([start, end], at[(at > start) & (at < end)])))
        energy += float(np.trapezoid(np.interp(fine, at, power), fine))
    stated = next(
        a for a in evidence.result["epochs"][4]["accelerators"] if a["accelerator"] == first
    )
    assert stated["energy_j_trapezoid"] == pytest.approx(energy, rel=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_windows_that_touch_count_as_one(seed: int) -> None:
    """Bit for bit, as one window has no edge to interpolate at in its middle."""
    random = np.random.default_rng(seed)
    table = samples("a", random.uniform(100, 700, 201))
    edges_s = [round(float(at), 9) for at in np.sort(random.uniform(1, 19, 12))]
    touching = pairwise(edges_s)
    (one,) = parts_of(result("a"), table, batches((1, 0, 0, edges_s[0], edges_s[-1], 11)))
    (joined,) = parts_of(
        result("a"), table, batches(*((1, n, 0, *window, 1) for n, window in enumerate(touching)))
    )
    assert (joined.energy_j_trapezoid, joined.energy_j_counter, joined.active_s, joined.items) == (
        one.energy_j_trapezoid,
        one.energy_j_counter,
        one.active_s,
        one.items,
    )
    assert joined.places.tolist() == one.places.tolist()


@pytest.mark.parametrize("gap_s", [0.0, 0.3])
def test_epochs_that_touch_stay_apart(gap_s: float) -> None:
    table = samples("a", np.linspace(100, 700, 201))
    windows = batches((1, 0, 0, 2, 5, 1), (1, 1, 0, 6, 8, 1), (2, 0, 0, 8 + gap_s, 10, 1))
    parts = parts_of(result("a"), table, windows)
    alone = [
        parts_of(result("a"), table, windows[windows["epoch"] == epoch])[0] for epoch in (1, 2)
    ]
    for part, expected in zip(parts, alone, strict=True):
        assert (part.epoch, part.active_s) == (expected.epoch, expected.active_s)
        assert part.energy_j_trapezoid == expected.energy_j_trapezoid
        assert part.places.tolist() == expected.places.tolist()


def test_failed_reads_are_bridged_by_a_straight_line() -> None:
    power = 100 + 10 * np.arange(21.0)
    table = samples("a", power)
    table.loc[[7, 8, 12], ["power_mw", "energy_mj"]] = np.nan
    part = parts_of(result("a"), table, batches((1, 0, 0, 0.5, 1.5, 1)))[0]
    assert part.energy_j_trapezoid == pytest.approx(200.0)
    assert len(part.samples) == 11


def test_average_serves_where_there_is_no_instantaneous_power() -> None:
    table = samples("a", np.full(21, 300.0))
    table["power_avg_mw"], table["power_mw"] = table["power_mw"], np.nan
    part = parts_of(result("a"), table, batches((1, 0, 0, 0.5, 1.5, 1)))[0]
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
    table = samples("a", np.full(301, 500.0))
    table["energy_mj"] *= factor
    one = result("a")
    found = compute_figures(one, system("a"), parts_of(one, table, batches((1, 0, 0, 5, 25, 100))))
    assert found.energy_of_record == record
    expected_j = 500 * 20 * (factor if record == "counter" else 1)
    assert found.epochs[0].joules_per_item == pytest.approx(expected_j / 100)


def test_counter_that_stands_still_in_one_scored_epoch_fails_its_self_test() -> None:
    """Epoch 2 has 0.5 % of the energy: over the run the counter agrees within 1 % all the same."""
    table = samples("a", np.full(301, 500.0))
    frozen = table["read_ns"].between(22 * S, 23 * S)
    table.loc[frozen, "energy_mj"] = table.loc[frozen, "energy_mj"].iloc[0]
    windows = batches((1, 0, 0, 1, 21, 100), (2, 0, 0, 22.1, 22.2, 1))
    parts = parts_of(result("a"), table, windows)
    assert [part.energy_j_counter for part in parts] == [pytest.approx(10_000), 0.0]
    assert not counter_passes(parts, CURRENT)
    assert counter_passes(parts[:1], CURRENT)


@pytest.mark.parametrize(("factor", "passes"), [(1.015, True), (1.025, False)])
def test_one_averaged_board_loosens_the_counters_self_test(factor: float, passes: bool) -> None:
    """Averaged power may differ from the counter by 2 %, instantaneous power by 1 %."""
    instantaneous, averaged = (samples(name, np.full(301, 500.0)) for name in "ab")
    averaged["power_avg_mw"], averaged["power_mw"] = averaged["power_mw"], np.nan
    table = pd.concat([instantaneous, averaged], ignore_index=True)
    table["energy_mj"] *= factor
    windows = batches((1, 0, 0, 1, 21, 1), (1, 0, 1, 1, 21, 1))
    parts = parts_of(result("a", "b"), table, windows)
    assert [part.averaged for part in parts] == [False, True]
    assert counter_passes(parts, CURRENT) is passes
    assert not counter_passes(parts[:1], CURRENT)


def test_mean_power_at_the_tolerance_of_the_cap_keeps_to_it() -> None:
    table, windows = samples("a", np.full(301, 510.0)), batches((1, 0, 0, 1, 21, 100))
    parts = parts_of(result("a"), table, windows)
    mean_w = compute_figures(result("a"), system("a"), parts).observed[0].mean_power_w
    cap_w = mean_w / CURRENT.cap_tolerance
    candidates_w = (cap_w, np.nextafter(cap_w, 0), np.nextafter(cap_w, 1000))
    cap_w = float(next(w for w in candidates_w if w * CURRENT.cap_tolerance == mean_w))
    for declared_w, enforced in ((cap_w, True), (cap_w - 0.001, False)):
        figures = compute_figures(result("a", cap_w=declared_w), system("a"), parts)
        assert figures.observed[0].cap_enforced is enforced


def test_least_share_of_the_peak_of_requests_that_are_not_the_workloads() -> None:
    """An output token of another request takes what any token of the workload's request takes."""
    size = workloads()["llama3-8b-serve"].full
    flops = size.min_flops_per_item or size.flops_per_item
    tokens = size.input_shape[0], size.items_per_sample
    share = min_peak_share(1000.0, size, 989.4, as_defined=False)
    assert share == pytest.approx(1000 * flops * tokens[1] / sum(tokens) / 989.4e12)


def test_no_counter_and_unknown_board_leave_figures_empty() -> None:
    table = samples("a", np.full(301, 500.0), energy_mj=np.nan)
    one = result("a")
    found = compute_figures(
        one,
        system("a", name="Example"),
        parts_of(one, table, batches((1, 0, 0, 5, 25, 100))),
    )
    assert found.energy_of_record == "trapezoid"
    assert found.headline.energy_j_counter is None
    assert found.headline.mfu is None
    assert found.observed[0].cap_enforced is None


def test_difference_is_signed_and_infinite_for_a_counter_that_stands_still() -> None:
    assert relative_difference(100, 102) == pytest.approx(0.02)
    assert relative_difference(100, 99) == pytest.approx(-0.01)
    assert relative_difference(0, 5) == math.inf


# What the evidence does not allow

FLAT = np.full(101, 500.0)


@pytest.mark.parametrize(
    ("table", "windows", "reason"),
    [
        (samples("b", FLAT), [(1, 0, 0, 1, 2, 1)], "accelerator a has no samples"),
        (
            samples("a", FLAT),
            [(1, 0, 7, 1, 2, 1)],
            "rank 7 has batches, but result.json does not list it",
        ),
        (samples("a", FLAT), [(1, 0, 0, 1, 1, 1)], "no active time"),
        (samples("a", FLAT), [(1, 0, 0, 9, 10.1, 1)], "outside the samples"),
        (samples("a", FLAT)[::-1], [(1, 0, 0, 1, 2, 1)], "does not rise"),
        (samples("a", FLAT)[:1], [(1, 0, 0, 0, 0, 1)], "fewer than two"),
        (
            samples("a", FLAT, power_mw=np.nan),
            [(1, 0, 0, 1, 2, 1)],
            "fewer than two power readings",
        ),
        (
            samples("a", FLAT, power_mw=np.where(np.arange(101) == 50, 5e5, np.nan)),
            [(1, 0, 0, 1, 2, 1)],
            "fewer than two power readings",
        ),
        (samples("a", FLAT), [], "no batches"),
    ],
)
def test_evidence_that_gives_no_parts(
    table: pd.DataFrame, windows: list[tuple], reason: str
) -> None:
    with pytest.raises(MetricsError, match=reason):
        parts_of(result("a"), table, batches(*windows))


def requests(*rows: tuple[int, ...]) -> Table:
    """Requests of rank 0 from epoch, number, and sending, first token and end in s; 100 tokens in,
    11 out."""
    table = [(e, n, 0, *(int(t * 1e9) for t in times), 100, 11) for e, n, *times in rows]
    return table_of(pd.DataFrame(table, columns=list(REQUEST_COLUMNS)).astype("int64"))


def test_waiting_times_are_those_of_requests_that_end_in_scored_epochs() -> None:
    one = result("a")
    parts = parts_of(
        one,
        samples("a", FLAT),
        batches((0, 0, 0, 1, 2, 11), (1, 0, 0, 2, 6, 11), (1, 1, 0, 3, 7, 11)),
    )
    served = compute_figures(
        one,
        system("a"),
        parts,
        requests((0, 0, 0.0, 0.9, 2.0), (1, 1, 0.5, 1.0, 6.0), (1, 2, 3.0, 3.3, 7.0)),
    )
    assert served.serving is not None
    assert served.serving.requests == 2
    assert served.serving.input_tokens_per_s == pytest.approx(200 / 5)
    assert served.serving.ttft_s.p50 == pytest.approx(0.4)
    assert served.serving.tpot_s.p50 == pytest.approx((0.5 + 0.37) / 2)
    assert vars(served.serving.latency_s) == pytest.approx(
        {"p50": 4.75, "p95": 4.0 + 0.95 * 1.5, "p99": 4.0 + 0.99 * 1.5}
    )


def epoch_of(number: int, *accelerators: tuple[str, float, float | None]) -> EpochFigures:
    """An epoch of accelerators with their power in W and clock in MHz."""
    figures = (
        AcceleratorFigures(0, name, 1, 30.0, None, 1.0, power_w, None, None, clock_mhz, None)
        for name, power_w, clock_mhz in accelerators
    )
    return EpochFigures(
        number, number > 0, 1, 30.0, 1.0, 1.0, 1.0, 1.0, 1.0, None, 1.0, None, tuple(figures)
    )


def test_imbalance_is_the_spread_over_the_mean_of_the_accelerators() -> None:
    epochs = [epoch_of(n, ("a", 600 + n, None), ("b", 630 + 3 * n, 1500.0)) for n in range(3)]
    assert compute_imbalance(epochs) == Imbalance(0.0, pytest.approx(33 / 618), None)
    assert compute_imbalance([epoch_of(1, ("a", 600, 1500.0))]) is None
    silent = [epoch_of(1, ("a", 600, 0.0), ("b", 600, 0.0))]
    assert compute_imbalance(silent) == Imbalance(0.0, 0.0, None)


def test_no_scored_epoch_gives_no_figures() -> None:
    one = result("a")
    parts = parts_of(one, samples("a", FLAT), batches((0, 0, 0, 1, 2, 1)))
    with pytest.raises(MetricsError, match="scored"):
        compute_figures(one, system("a"), parts)


@pytest.mark.parametrize("change", [{"workload": "unheard-of"}, {"size": "tiny"}])
def test_unknown_workload_gives_no_figures(change: Json) -> None:
    one = result("a") | change
    parts = parts_of(one, samples("a", FLAT), batches((1, 0, 0, 1, 2, 1)))
    with pytest.raises(MetricsError, match="rule book has no"):
        compute_figures(one, system("a"), parts)


# Percentiles


@given(st.lists(st.floats(0, 1e4), min_size=1, max_size=400))
def test_p95_is_that_of_numpy_bit_for_bit(values: list[float]) -> None:
    assert p95(np.array(values)) == np.percentile(values, 95)
