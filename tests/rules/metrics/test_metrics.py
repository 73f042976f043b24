"""The arithmetic on power, energy and throughput against what can be worked out by hand or in
another way."""

import json
import math
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import chain, product

import numpy as np
import pandas as pd
import pytest
from conftest import copy_evidence
from hypothesis import example, given
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
from rules.metrics.figures import Estimate, ObservedPower, estimate_mean
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


@dataclass(frozen=True)
class MadeRank:
    """A rank in an epoch, with constant power of its boards."""

    boards_w: Sequence[int]
    active_s: float
    items: int


ranks = st.builds(
    MadeRank,
    st.lists(st.integers(50, 900), min_size=1, max_size=2),
    st.floats(1, 12),
    st.integers(2, 1000),
)
CAP_W, HIGHEST_W = 500.3, 510


@example([MadeRank([400], 10, 1000), MadeRank([600], 5, 1000)])
@example([MadeRank([400, 600], 10, 1000)])
@given(st.lists(ranks, min_size=1, max_size=3))
def test_figures_of_an_epoch_are_sums_over_boards_and_ranks(made: list[MadeRank]) -> None:
    names = [[f"{rank}-{n}" for n in range(len(m.boards_w))] for rank, m in enumerate(made)]
    uuids = list(chain(*names))
    powers_w = dict(zip(uuids, chain(*(m.boards_w for m in made)), strict=True))
    windows = []
    for (epoch, start_s), (rank, m) in product(((0, 1.0), (1, 15.0)), enumerate(made)):
        middle_s, half = start_s + 0.4 * m.active_s, m.items // 2
        windows += [
            (epoch, 0, rank, start_s, middle_s, half),
            (epoch, 1, rank, middle_s, start_s + m.active_s, m.items - half),
        ]
    result = make_result(*(str(rank) for rank in range(len(made))), cap_w=CAP_W)
    for declared, boards in zip(result["ranks"], names, strict=True):
        declared["accelerators"] = boards
    samples = pd.concat(make_samples(u, np.full(301, float(w))) for u, w in powers_w.items())
    parts = make_parts(result, samples, make_batches(*windows))
    figures = compute_figures(result, make_system(*uuids), parts)
    boards_s = math.fsum(m.active_s for m in made for _ in m.boards_w)
    energy_j = math.fsum(power_w * m.active_s for m in made for power_w in m.boards_w)
    items = sum(m.items for m in made)
    assert [epoch.scored for epoch in figures.epochs] == [False, True]
    for epoch in figures.epochs:
        assert epoch.items == items, "the items of a rank count once"
        assert epoch.active_s == pytest.approx(boards_s / len(uuids))
        assert epoch.items_per_s_per_accelerator == pytest.approx(items / boards_s)
        assert epoch.items_per_s == pytest.approx(len(uuids) * items / boards_s)
        assert epoch.joules_per_item == pytest.approx(energy_j / items)
        assert epoch.items_per_joule == pytest.approx(items / energy_j)
        assert epoch.mean_power_w_per_accelerator == pytest.approx(energy_j / boards_s)
        assert epoch.energy_j_counter == pytest.approx(energy_j)
        assert epoch.energy_j_trapezoid == pytest.approx(energy_j)
        assert epoch.mfu == pytest.approx(items / boards_s * 24.3e9 / 989.4e12)
        assert [(a.items, a.mean_power_w) for a in epoch.accelerators] == [
            (m.items, pytest.approx(power_w)) for m in made for power_w in m.boards_w
        ]
    assert figures.observed == tuple(
        ObservedPower(uuid, pytest.approx(power_w), power_w <= HIGHEST_W)  # type: ignore[arg-type]
        for uuid, power_w in powers_w.items()
    )


def test_peak_is_that_of_the_slowest_accelerator_of_all_ranks() -> None:
    result = make_result("a")
    result["ranks"][0]["accelerators"] = ["a", "b"]
    of_both = make_system("a", "b")
    of_both["nodes"][0]["accelerators"][1]["name"] = "NVIDIA A100-SXM4-80GB"
    assert compute_peak_flops(result, of_both) == pytest.approx(312e12)
    of_both["nodes"][0]["accelerators"][1]["name"] = "Example"
    assert compute_peak_flops(result, of_both) is None


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
    "name", ["items_per_s", "items_per_s_per_accelerator", "mean_power_w_per_accelerator"]
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
