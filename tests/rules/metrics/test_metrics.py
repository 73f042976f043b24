"""The arithmetic on power, energy and throughput against what can be worked out by hand or in
another way."""

import json
import math
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from conftest import copy_evidence
from hypothesis import given
from hypothesis import strategies as st
from support.rules.figure_parts import (
    compute_figures,
    make_batches,
    make_parts,
    make_result,
    make_samples,
    make_system,
)

from rules.bundle_format.records import Json
from rules.declarations.run import RunDeclaration
from rules.declarations.system import SystemDeclaration
from rules.metrics import comparison, energy
from rules.metrics import run as run_metrics
from rules.metrics.figures import Estimate, ObservedPower, RunFigures, estimate_mean
from rules.metrics.figures_json import figures_from_json, figures_to_json
from rules.metrics.run import MetricsError
from rules.testing.frames import table_of
from rules.workloads import workloads


def compute_peak_flops(result: Json, system: Json) -> float | None:
    """The dense peak in FLOP/s of JSON documents."""
    run, nodes = RunDeclaration.from_document(result), SystemDeclaration.from_document(system)
    return run_metrics.peak_flops(run, nodes)


# Summary


def test_interval_by_students_t() -> None:
    # Ten values 1..10: mean 5.5, sd sqrt(55/6); t with 9 degrees of freedom is 2.262.
    estimate = estimate_mean([float(v) for v in range(1, 11)])
    sd = math.sqrt(55 / 6)
    assert (estimate.mean, estimate.n) == (5.5, 10)
    assert estimate.sd == pytest.approx(sd)
    assert estimate.ci95 == pytest.approx(
        (5.5 - 2.262 * sd / math.sqrt(10), 5.5 + 2.262 * sd / math.sqrt(10))
    )


@pytest.mark.parametrize(
    ("n", "t"), [(2, 12.706), (3, 4.303), (16, 2.131), (17, 2.120), (100, 1.984)]
)
def test_quantile_by_degrees_of_freedom(n: int, t: float) -> None:
    estimate = estimate_mean([float(i) for i in range(n)])
    assert (estimate.ci95[1] - estimate.mean) / (estimate.sd / math.sqrt(n)) == pytest.approx(
        t, abs=5e-4
    )


def test_one_value_has_no_spread() -> None:
    assert estimate_mean([3.0]) == Estimate(3.0, 1, None, None)


# Parts and figures


def compute_two_epochs(power_a_w: float, power_b_w: float, length_b_s: float) -> RunFigures:
    """Figures of two accelerators over a discarded and a scored epoch; `b` is active for another
    time than `a`."""
    table = pd.concat(
        [make_samples("a", np.full(301, power_a_w)), make_samples("b", np.full(301, power_b_w))],
        ignore_index=True,
    )
    windows = []
    for epoch, start in ((0, 1.0), (1, 15.0)):
        windows += [
            (epoch, 0, 0, start, start + 10, 1000),
            (epoch, 0, 1, start, start + length_b_s, 1000),
        ]
    result = make_result("a", "b", cap_w=500)
    return compute_figures(
        result, make_system("a", "b"), make_parts(result, table, make_batches(*windows))
    )


def test_two_accelerators_with_unequal_active_time() -> None:
    figures = compute_two_epochs(400, 600, 5)
    scored = figures.epochs[1]
    assert [e.scored for e in figures.epochs] == [False, True]
    assert scored.items_per_s_per_accelerator == pytest.approx(2000 / 15)
    assert scored.items_per_s == pytest.approx(2 * 2000 / 15)
    assert scored.joules_per_item == pytest.approx((400 * 10 + 600 * 5) / 2000)
    assert scored.mean_power_w_per_accelerator == pytest.approx(7000 / 15)
    assert scored.energy_j_counter == pytest.approx(7000)
    assert scored.energy_j_trapezoid == pytest.approx(7000)
    assert scored.mfu == pytest.approx(2000 / 15 * 24.3e9 / 989.4e12)
    assert scored.active_s == pytest.approx(7.5)
    assert [a.mean_power_w for a in scored.accelerators] == pytest.approx([400, 600])
    assert figures.observed == (
        ObservedPower("a", pytest.approx(400), True),
        ObservedPower("b", pytest.approx(600), False),
    )


def test_one_rank_over_two_accelerators() -> None:
    table = pd.concat(
        [make_samples("a", np.full(301, 400.0)), make_samples("b", np.full(301, 600.0))],
        ignore_index=True,
    )
    result = make_result("a", cap_w=500)
    result["ranks"][0]["accelerators"] = ["a", "b"]
    parts = make_parts(result, table, make_batches((1, 0, 0, 5, 10, 600), (1, 1, 0, 10, 15, 400)))
    assert [(p.rank, p.accelerator, p.items, p.active_s) for p in parts] == [
        (0, "a", 1000, 10),
        (0, "b", 1000, 10),
    ]
    figures = compute_figures(result, make_system("a", "b"), parts)
    (epoch,) = figures.epochs
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
    assert [(o.accelerator, o.cap_enforced) for o in figures.observed] == [
        ("a", True),
        ("b", False),
    ]


def test_peak_is_that_of_the_slowest_accelerator_of_all_ranks() -> None:
    result = make_result("a")
    result["ranks"][0]["accelerators"] = ["a", "b"]
    of_both = make_system("a", "b")
    of_both["nodes"][0]["accelerators"][1]["name"] = "NVIDIA A100-SXM4-80GB"
    assert compute_peak_flops(result, of_both) == pytest.approx(312e12)
    of_both["nodes"][0]["accelerators"][1]["name"] = "Example"
    assert compute_peak_flops(result, of_both) is None


@given(st.floats(50, 900), st.floats(50, 900), st.floats(1, 12))
def test_identities_hold_in_every_epoch(
    power_a_w: float, power_b_w: float, length_b_s: float
) -> None:
    for epoch in compute_two_epochs(power_a_w, power_b_w, length_b_s).epochs:
        assert epoch.joules_per_item is not None and epoch.items_per_joule is not None
        assert epoch.joules_per_item * epoch.items_per_s_per_accelerator == pytest.approx(
            epoch.mean_power_w_per_accelerator
        )
        assert epoch.joules_per_item * epoch.items_per_joule == pytest.approx(1)


@pytest.mark.parametrize("serving", [False, True])
def test_figures_are_the_same_after_a_round_through_json(serving: bool) -> None:
    stated = copy_evidence(serving=serving).result
    figures = figures_from_json(stated)
    assert (figures.serving is not None) == serving
    document = figures_to_json(figures)
    for epoch, original in zip(document["epochs"], stated["epochs"], strict=True):
        epoch |= {name: original[name] for name in ("loss", "losses") if name in original}
    assert document == {name: stated[name] for name in document}
    assert figures_from_json(stated | json.loads(json.dumps(document))) == figures


def test_extensions_of_a_result_are_no_figures() -> None:
    stated = copy_evidence().result
    figures = figures_from_json(stated)
    for section in (
        stated["headline"],
        stated["headline"]["mfu"],
        stated["observed"][0],
        stated["epochs"][3],
        stated["epochs"][3]["figures"],
        stated["epochs"][3]["accelerators"][1],
    ):
        section["x-note"] = "ours"
    assert figures_from_json(stated) == figures


@pytest.mark.parametrize(
    "name",
    ["items_per_s", "items_per_s_per_accelerator", "mean_power_w_per_accelerator"],
)
def test_figure_that_every_run_has_is_not_null(name: str) -> None:
    stated = copy_evidence().result
    stated["headline"][name] = None
    with pytest.raises(MetricsError, match=f"states no {name}$"):
        figures_from_json(stated)


def test_energy_of_an_epoch_against_an_independent_sum() -> None:
    evidence = copy_evidence()
    first = evidence.result["ranks"][0]["accelerators"][0]
    board_samples = evidence.samples[evidence.samples["accelerator"] == first]
    of_epoch = evidence.batches[(evidence.batches["epoch"] == 4) & (evidence.batches["rank"] == 0)]
    at, power = (
        board_samples["read_ns"].to_numpy() / 1e9,
        board_samples["power_mw"].to_numpy() / 1e3,
    )
    energy = 0.0
    for start, end in of_epoch[["start_ns", "end_ns"]].to_numpy() / 1e9:
        fine = np.unique(np.concatenate(([start, end], at[(at > start) & (at < end)])))
        energy += float(np.trapezoid(np.interp(fine, at, power), fine))
    stated = next(
        a for a in evidence.result["epochs"][4]["accelerators"] if a["accelerator"] == first
    )
    assert stated["energy_j_trapezoid"] == pytest.approx(energy, rel=1e-6)


def test_rates_and_shares_of_the_peak_are_exact() -> None:
    assert run_metrics.items_per_second(10, 4) == 2.5 and run_metrics.items_per_second(1, 0) == 0
    size = workloads()["resnet50-train"].size("full")
    assert run_metrics.min_peak_share(3.0, size, 2.0) == 3.0 * size.flops_per_item / 2e12
    assert comparison.items_per_year(2000) == 2000e6 * 365


@pytest.mark.parametrize(("count", "is_trace"), [(1, False), (2, True)])
def test_two_samples_are_enough_for_a_trace(count: int, is_trace: bool) -> None:
    table = table_of(make_samples("a", np.full(count, 500.0)))
    with nullcontext() if is_trace else pytest.raises(MetricsError, match="fewer than two"):
        assert energy.build_trace(table).power_w.tolist() == [500.0] * count
