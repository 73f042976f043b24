"""Rules on claims that nothing in a bundle refutes: power below the cap, gaps between batches,
throughput beyond all known results, impossible clocks, and losses and temperatures that were not
measured."""

import copy
import json
from dataclasses import astuple, replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from conftest import copy_evidence
from support.bundles import rederive
from support.committed_runs import SUBMISSIONS
from support.mutation_cases import read_measured
from support.rules.round_runs import list_reported_runs, make_other_summary, make_summary

from rules.bundle import Bundle
from rules.checks.across.losses_contradict_seed import have_equal_origin
from rules.checks.throughput import beyond_known_results
from rules.known_results import (
    KNOWN_CAP_W,
    KNOWN_RESULTS,
    PUBLISHED_SAVINGS,
    count_batch_per_accelerator,
    find_known_result,
    find_largest_saving,
)
from rules.metrics.run import mean_clocks
from rules.registry import rules_by_id
from rules.rule import BundleRule, RoundRule
from rules.run_summary import RunSummary, submission_key, summarize
from rules.testing.cases.throughput.beyond_the_usual import scale_items
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import (
    declare_cap,
    scale_readings,
    select_every,
    select_load,
    shorten_batches,
)

ALONE, ACROSS = ("W126", "W127", "T122", "T123", "T124", "T125", "C113"), ("X116", "X117")
PATHS = sorted(path.parent for path in (SUBMISSIONS / "reference").glob("*/*/result.json"))
COOLING_RUNS = ("c76f09", "110c2c", "d83cc5")
WARMING_RUNS = ("83e836", "bf0a88", "97d2e3")
LEARNING_RUNS = ("83e836", "8d6d0f", "c1c71c", "05bbe1", "6c961e")
# It decodes with XQA. No other board has repeated it.
RUNS_BEYOND_KNOWN_RESULTS = ("5fa90e",)
DRIFTING_RUNS = (*COOLING_RUNS, *WARMING_RUNS, *LEARNING_RUNS, "19cf8c")
"""Boards cool by 5 to 8 K over the scored epochs and draw less power, or warm up. LLaMA learns its
tokens by heart, and ViT-L/16 in fp16 its images. Some batches of `83e836` take up to twice as long.
`19cf8c` serves one request at a time."""
CAPPED_RUN = next(path for path in PATHS if path.name.endswith("85582f"))


def copy_run(name: str) -> EvidenceFrames:
    """A committed run whose name ends so."""
    return copy.deepcopy(read_measured(next(path for path in PATHS if path.name.endswith(name))))


@cache
def bundle_of(path: Path) -> Bundle:
    return Bundle(path, (), read_measured(path).evidence())


def list_reporting_rules(evidence: EvidenceFrames, *ids: str) -> set[str]:
    rederive(evidence)
    bundle = Bundle(Path("center/system/run"), (), evidence.evidence())
    rules = (rules_by_id()[id] for id in ids)
    return {
        rule.id
        for rule in rules
        if isinstance(rule, BundleRule)
        and bundle.standing in rule.standings
        and any(rule.judge(bundle))
    }


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name[17:])
def test_measured_run_alone_is_not_reported(path: Path) -> None:
    rules = [rules_by_id()[id] for id in ALONE]
    bundle = bundle_of(path)
    reported = {"T125": DRIFTING_RUNS, "T123": RUNS_BEYOND_KNOWN_RESULTS}
    assert [
        rule.id
        for rule in rules
        if isinstance(rule, BundleRule)
        and bundle.standing in rule.standings
        and any(rule.judge(bundle))
    ] == [id for id, runs in reported.items() if path.name.endswith(runs)]


@pytest.mark.parametrize(
    ("first", "second", "repeats"),
    [
        ("438358", "6c4f87", False),  # Stable Diffusion before and in channels_last throughout
        ("021df1", "626695", False),  # FP8 with one scale per row, and with delayed scaling
        ("dabc4e", "695f66", False),  # ResNet-50 without kernel tuning, and with it
        ("b27ead", "8e3adf", True),  # a server that lists its quantisation, and one that does not
    ],
)
def test_runs_of_two_recipes_are_no_repeats(first: str, second: str, repeats: bool) -> None:
    keys = [
        submission_key(bundle_of(path)) for path in PATHS if path.name.endswith((first, second))
    ]
    assert len(keys) == 2
    assert (keys[0] == keys[1]) is repeats


def test_measured_runs_together_are_not_reported() -> None:
    runs = [run for path in PATHS if (run := summarize(bundle_of(path))) is not None]
    assert len(runs) == len(PATHS)
    same_seed = [run for run in runs if run.first_losses]
    assert len({(run.comparison_key, run.seed) for run in same_seed}) <= len(same_seed) - 3
    for id in ACROSS:
        rule = rules_by_id()[id]
        assert isinstance(rule, RoundRule) and list(rule.judge_round(runs)) == []


def test_known_results_are_those_of_the_committed_runs() -> None:
    found: dict[tuple[str, str, str, int], list[tuple[float, ...]]] = {}
    for path in PATHS:
        bundle = bundle_of(path)
        board = bundle.board_of(bundle.ranks[0].accelerators[0])
        assert board is not None and bundle.figures is not None
        # A submitter's own code is no implementation of the variant that it is compared with.
        is_reference = bundle.implementation.sha256 is None
        if path.name.endswith(RUNS_BEYOND_KNOWN_RESULTS):
            continue
        if bundle.declaration.size == "full" and bundle.standing != "control" and is_reference:
            assert bundle.cap_w == KNOWN_CAP_W
            batch_size = count_batch_per_accelerator(bundle)
            key = board.id, bundle.declaration.workload, bundle.variant, int(batch_size)
            headline, clock_mhz = bundle.figures.headline, mean_clocks(bundle.figures.epochs).sm_mhz
            items_per_s = headline.items_per_s_per_accelerator.mean
            assert clock_mhz is not None and headline.joules_per_item is not None
            capped_power = min(
                np.nanmean(series.under_load_w) / KNOWN_CAP_W if series.capped_share >= 0.9 else 0.0
                for series in bundle.series
            )
            figures = 1 / headline.joules_per_item.mean, items_per_s / clock_mhz.mean
            found.setdefault(key, []).append((items_per_s, *figures, clock_mhz.mean, capped_power))
    assert found.keys() == KNOWN_RESULTS.keys()
    for key, runs in found.items():
        rates, per_joule, per_cycle, clocks_mhz, powers = zip(*runs, strict=True)
        best = max(rates), max(per_joule), max(per_cycle)
        assert (*best, min(per_cycle), max(clocks_mhz), min(powers)) == pytest.approx(
            astuple(KNOWN_RESULTS[key]), rel=1e-3
        ), key


def test_published_savings_are_the_largest_of_the_transcribed_rows() -> None:
    rows = json.loads((SUBMISSIONS / "published/mayr2026.json").read_text(encoding="utf-8"))["rows"]
    rates = {
        (row["accelerator"], row["workload"], row["cap_w"]): row["items_per_s_per_accelerator"]
        for row in rows
    }
    for board, savings in PUBLISHED_SAVINGS.items():
        for cap_w, saving in savings.items():
            gains = [
                rate / cap_w / (rates[board, workload, KNOWN_CAP_W] / KNOWN_CAP_W)
                for (name, workload, other_cap_w), rate in rates.items()
                if (name, other_cap_w) == (board, cap_w)
            ]
            assert saving == pytest.approx(max(gains), rel=1e-3)
    assert find_largest_saving("H200", 450) == pytest.approx((1.319 + 1.248) / 2)
    assert find_largest_saving("H200", 100) == PUBLISHED_SAVINGS["H200"][200]
    assert find_largest_saving("H200", 750) == find_largest_saving("A100", 200) == 1.0


@pytest.mark.parametrize(
    ("variant", "batch_size", "nearest"),
    [("tuned", 2017, 2048), ("tuned", 1, 256), ("tuned", 9000, 3072), ("s2d", 300, 2048)],
)
def test_known_result_is_that_of_the_nearest_batch_size(
    variant: str, batch_size: int, nearest: int
) -> None:
    assert find_known_result("H200", "resnet50-train", variant, batch_size) == (
        nearest,
        KNOWN_RESULTS["H200", "resnet50-train", variant, nearest],
    )


# T123: more work than any known run.


@pytest.mark.parametrize(
    ("factor", "clock", "cap_w", "is_reported"),
    [
        (1.0, 1.0, 700.0, False),
        (1.12, 1.12, 700.0, True),
        (1.08, 1.0, 700.0, True),
        (1.08, 1.08, 700.0, True),
        (1.04, 1.04, 700.0, False),
        (1.0, 1.1, 700.0, True),
        (0.96, 1.0, 700.0, False),
        (0.9, 1.1, 700.0, False),
        (1.0, 0.7, 700.0, True),
        (1.0, 0.7, 400.0, False),
    ],
)
def test_work_is_compared_per_time_and_at_the_known_cap_per_cycle(
    factor: float, clock: float, cap_w: float, is_reported: bool
) -> None:
    evidence = copy.deepcopy(read_measured(CAPPED_RUN))
    scale_items(evidence, factor)
    evidence.samples["sm_mhz"] *= clock
    declare_cap(evidence, cap_w)
    assert list_reporting_rules(evidence, "T123") == ({"T123"} if is_reported else set())


def test_boards_of_a_run_are_compared_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(beyond_known_results, "find_best_result", lambda id, _: asked.append(id))
    bundle: Any = SimpleNamespace(
        **{"figures": 1, "accelerator_ranks": "hgfedcba", "standing": "open"},
        declaration=SimpleNamespace(size="full", workload="resnet50-train"),
        real_board_of=lambda uuid: SimpleNamespace(id=uuid),
    )
    assert not list(beyond_known_results.RULE.run(bundle)) and asked == list("abcdefgh")


@pytest.mark.parametrize(
    ("share", "items", "cap_w", "is_reported"),
    [
        (0.96, 1.0, 700.0, False),
        (0.94, 1.0, 700.0, True),
        (0.7, 0.8, 700.0, True),
        (0.5, 1.0, 400.0, True),
        (0.5, 0.98, 400.0, True),
        (0.55, 0.8, 400.0, True),
        (0.62, 0.8, 400.0, False),
        (0.8, 0.9, 664.0, True),
    ],
)
def test_energy_is_compared_at_the_known_cap_and_at_the_known_throughput(
    share: float, items: float, cap_w: float, is_reported: bool
) -> None:
    evidence = copy.deepcopy(read_measured(CAPPED_RUN))
    scale_readings(evidence, share)
    scale_items(evidence, items)
    declare_cap(evidence, cap_w)
    assert list_reporting_rules(evidence, "T123") == ({"T123"} if is_reported else set())


@pytest.mark.parametrize("variant", ["tuned", "own"])
@pytest.mark.parametrize(("factor", "is_reported"), [(1.0, False), (1.05, False), (2.0, True)])
def test_open_run_is_compared_with_the_best_of_all_variants(
    variant: str, factor: float, is_reported: bool
) -> None:
    evidence = copy.deepcopy(read_measured(CAPPED_RUN))
    evidence.result["standing"] = "open"
    evidence.result["implementation"]["variant"] = variant
    scale_items(evidence, factor)
    assert list_reporting_rules(evidence, "T123") == ({"T123"} if is_reported else set())


def test_open_baseline_may_be_as_fast_as_the_tuned_variant() -> None:
    evidence = copy.deepcopy(read_measured(CAPPED_RUN))
    evidence.result["implementation"]["variant"] = "baseline"
    assert list_reporting_rules(evidence, "T123") == {"T123"}
    evidence.result["standing"] = "open"
    assert list_reporting_rules(evidence, "T123") == set()


# T124: nothing to compare with.


@pytest.mark.parametrize(
    ("name", "workload", "is_reported"),
    [
        ("NVIDIA H200", "resnet50-train", False),
        ("NVIDIA H200", "sd2-latents-train", False),
        ("NVIDIA H100 80GB HBM3", "resnet50-train", False),
        ("NVIDIA H100 80GB HBM3", "vitl16-train", True),
        ("NVIDIA B300 SXM6 AC", "resnet50-train", True),
        ("Simulated H200", "resnet50-train", False),
    ],
)
@pytest.mark.parametrize("standing", ["closed", "open"])
def test_board_or_workload_without_a_known_result_is_reported(
    name: str, workload: str, is_reported: bool, standing: str
) -> None:
    evidence = copy.deepcopy(read_measured(CAPPED_RUN))
    for accelerator in evidence.system["nodes"][0]["accelerators"]:
        accelerator["name"] = name
    evidence.result.update(standing=standing, workload=workload)
    assert list_reporting_rules(evidence, "T124") == ({"T124"} if is_reported else set())


# W126: power below the cap at a low clock.


@pytest.mark.parametrize(
    ("share", "reported"),
    [(1.0, set()), (0.98, set()), (0.95, {"W126"}), (0.85, {"W126"}), (0.5, {"W119"})],
)
def test_scaled_readings_are_reported_by_one_of_two_rules(share: float, reported: set[str]) -> None:
    evidence = copy.deepcopy(read_measured(CAPPED_RUN))
    scale_readings(evidence, share)
    assert list_reporting_rules(evidence, "W119", "W126") == reported


@pytest.mark.parametrize("every", [1, 30])
def test_removing_the_reason_does_not_hide_low_readings(every: int) -> None:
    evidence = copy.deepcopy(read_measured(CAPPED_RUN))
    scale_readings(evidence, 0.95)
    evidence.samples.loc[select_every(every, select_load(evidence)), "slowdown"] = 0.0
    assert list_reporting_rules(evidence, "W126") == {"W126"}


def test_raising_the_clock_does_not_hide_low_readings_while_the_reason_remains() -> None:
    evidence = copy.deepcopy(read_measured(CAPPED_RUN))
    scale_readings(evidence, 0.95)
    evidence.samples["sm_mhz"] = evidence.samples["sm_mhz"].clip(lower=1965.0)
    assert list_reporting_rules(evidence, "W126") == {"W126"}


@pytest.mark.parametrize(
    ("reason", "is_locked", "is_reported"),
    [
        (0x4, False, True),
        (0x2, False, True),
        (0x10, False, True),
        (0x100, False, True),
        (0x20, False, False),
        (0x80, False, False),
        (0x2, True, False),
    ],
)
def test_only_a_declared_lock_or_an_invalid_slowdown_explains_low_power_at_a_low_clock(
    reason: int, is_locked: bool, is_reported: bool
) -> None:
    evidence = copy.deepcopy(read_measured(CAPPED_RUN))
    scale_readings(evidence, 0.9)
    evidence.samples["slowdown"] = float(reason)
    if is_locked:
        evidence.result["power"]["sm_clock_mhz"] = 1500
    reported = list_reporting_rules(evidence, "W126", "C112")
    assert ("W126" in reported) == is_reported
    # A clock that is low for no reason that lowers it is a finding of its own.
    assert ("C112" in reported) == (reason in (0x2, 0x10, 0x100) and not is_locked)


def make_own_open_run(evidence: EvidenceFrames) -> None:
    """An open run of somebody's own implementation."""
    evidence.result["standing"] = "open"
    evidence.result["implementation"]["sha256"] = "0" * 64


def hold_clock_at(evidence: EvidenceFrames, *clocks_mhz: float) -> None:
    """Clocks that alternate under load; the power cap is the reason in every sample."""
    rows = np.flatnonzero(select_load(evidence))
    evidence.samples.loc[rows, "sm_mhz"] = np.resize(clocks_mhz, len(rows))
    evidence.samples.loc[rows, "slowdown"] = 4.0


CEILING_RULES = ("W119", "W126", "C111", "C112", "W123")


@pytest.mark.parametrize("share", [0.57, 0.7, 0.85, 0.92])
@pytest.mark.parametrize(
    ("board", "clocks_mhz"),
    [
        ("NVIDIA H200", (1755.0, 1755.0, 1740.0)),
        ("NVIDIA H200", (1680.0, 1665.0)),
        ("NVIDIA H200", (1860.0, 1965.0, 1905.0, 1890.0, 1950.0)),
        ("NVIDIA H100 80GB HBM3", (1650.0, 1665.0)),
    ],
)
def test_clock_at_a_ceiling_far_below_the_cap_is_not_reported(
    board: str, clocks_mhz: tuple[float, ...], share: float
) -> None:
    """Pruned networks, small products and half-idle loads have such clocks
    (docs/measurement.md)."""
    evidence = copy.deepcopy(read_measured(CAPPED_RUN))
    for accelerator in evidence.system["nodes"][0]["accelerators"]:
        accelerator["name"] = board
    make_own_open_run(evidence)
    scale_readings(evidence, share)
    hold_clock_at(evidence, *clocks_mhz)
    assert list_reporting_rules(evidence, *CEILING_RULES) == set()


@pytest.mark.parametrize("share", [0.57, 0.7, 0.8, 0.88])
@pytest.mark.parametrize("clocks_mhz", [(), (1755.0,)])
@pytest.mark.parametrize("standing", ["closed", "open"])
def test_scaled_readings_of_a_known_workload_are_reported_at_a_constant_clock_too(
    standing: str, clocks_mhz: tuple[float, ...], share: float
) -> None:
    evidence = copy.deepcopy(read_measured(CAPPED_RUN))
    evidence.result["standing"] = standing
    scale_readings(evidence, share)
    if clocks_mhz:
        hold_clock_at(evidence, *clocks_mhz)
    assert len(list_reporting_rules(evidence, "W119", "W126")) == 1


@pytest.mark.parametrize("share", [0.57, 0.7, 0.85])
@pytest.mark.parametrize("run", ["d83c3c", "fa6aa5", "bf5854", "f24a9a", "54c646"])
def test_scaled_readings_of_a_capped_run_are_reported_in_own_implementations(
    run: str, share: float
) -> None:
    """Only a power cap holds the clock below every ceiling."""
    evidence = copy_run(run)
    make_own_open_run(evidence)
    assert list_reporting_rules(evidence, "W119", "W126") == set()
    scale_readings(evidence, share)
    assert len(list_reporting_rules(evidence, "W119", "W126")) == 1


@pytest.mark.parametrize(("own", "is_reported"), [(False, True), (True, False)])
def test_caps_above_what_a_ceiling_lets_a_board_draw_may_have_equal_figures(
    own: bool, is_reported: bool
) -> None:
    """Two caps that do not limit a board, whose clock a ceiling holds."""
    summaries = []
    for cap_w in (700.0, 600.0):
        evidence = copy.deepcopy(read_measured(CAPPED_RUN))
        if own:
            make_own_open_run(evidence)
        scale_readings(evidence, 0.57)
        hold_clock_at(evidence, 1755.0)
        declare_cap(evidence, cap_w)
        rederive(evidence)
        path = Path(f"center/system/{cap_w:g}")
        summaries.append(summarize(Bundle(path, (), evidence.evidence())))
    rule = rules_by_id()["X101"]
    assert isinstance(rule, RoundRule)
    assert bool(list(rule.judge_round([s for s in summaries if s]))) == is_reported


@pytest.mark.parametrize(("run", "reported"), [("cce185", {"W126"}), ("5afeaa", set())])
def test_server_is_judged_only_if_its_clock_is_low_most_of_the_time(
    run: str, reported: set[str]
) -> None:
    evidence = copy_run(run)
    scale_readings(evidence, 0.9)
    assert list_reporting_rules(evidence, "W126") == reported


# E103 and E104: samples and counter where power varies strongly.


@pytest.mark.parametrize(("version", "reported"), [("1.9.0", set()), ("1.8.0", {"E103", "E104"})])
def test_limits_of_samples_and_counter_grow_with_varying_power(
    version: str, reported: set[str]
) -> None:
    """Readings between 450 and 949 W: the limits of 1 and 2 % become 1.16 and 2.75 %."""
    evidence = copy_run("dddb51")
    evidence.result["rules_version"] = version
    parts = Bundle(Path("center/system/run"), (), evidence.evidence()).scored_parts
    epochs = [part.epoch for part in parts]
    # 2.4 % too much in two epochs of ten, and 0.75 % in the others: 1.08 % over the run.
    for part in parts:
        share = 1.024 if part.epoch in epochs[:2] else 1.0075
        assert part.energy_j_counter is not None
        factor = share * part.energy_j_counter / part.energy_j_trapezoid
        load = select_load(evidence, part.epoch)
        evidence.samples.loc[load, "power_mw"] = evidence.samples.loc[load, "power_mw"] * factor
    assert list_reporting_rules(evidence, "E103", "E104") == reported


# T122: gaps between the batches of training.


@pytest.mark.parametrize(
    ("share", "reported"), [(0.998, set()), (0.99, {"T122"}), (0.92, {"T122"}), (0.85, {"T109"})]
)
def test_gaps_are_reported_by_one_of_two_rules(share: float, reported: set[str]) -> None:
    evidence = copy_evidence()
    shorten_batches(evidence, share)
    assert list_reporting_rules(evidence, "T109", "T122") == reported


def test_server_may_have_gaps() -> None:
    evidence = copy_evidence(serving=True)
    evidence.batches = evidence.batches.iloc[::400].reset_index(drop=True)
    gaps_ns = evidence.batches["start_ns"].to_numpy()[1:] - evidence.batches["end_ns"][:-1]
    assert (gaps_ns != 0).any()
    assert list_reporting_rules(evidence, "T122") == set()


# C113: clocks and reasons that no board gives.


def rename_boards(evidence: EvidenceFrames, name: str, vendor: str) -> None:
    for accelerator in evidence.system["nodes"][0]["accelerators"]:
        accelerator.update(name=name, vendor=vendor)


@pytest.mark.parametrize(
    ("name", "vendor", "sm_mhz", "slowdown", "is_reported"),
    [
        ("NVIDIA H200", "NVIDIA", 1995.0, 0x1FF, False),
        ("NVIDIA H200", "NVIDIA", 1500.0, 2.0**63, False),
        ("NVIDIA H200", "NVIDIA", 2010.0, 4, True),
        ("NVIDIA H200", "NVIDIA", 1500.0, 0x200, True),
        ("NVIDIA H200", "NVIDIA", 1500.0, -4, True),
        ("Simulated H200", "simulated", 2400.0, 4, True),
        ("Simulated H200", "simulated", 1980.0, -1, True),
        ("NVIDIA H20", "NVIDIA", 2400.0, 4, False),
        ("AMD Instinct MI300X", "AMD", 2100.0, 0x1F, False),
        ("AMD Instinct MI300X", "AMD", 2100.0, 0x20, True),
        ("Another board", "Another vendor", 3000.0, 0x4000, False),
    ],
)
def test_clock_and_reasons_are_those_of_the_board(
    name: str, vendor: str, sm_mhz: float, slowdown: float, is_reported: bool
) -> None:
    evidence = copy_evidence()
    rename_boards(evidence, name, vendor)
    evidence.samples["slowdown"] = 0.0
    evidence.samples.loc[100, ["sm_mhz", "slowdown"]] = (sm_mhz, slowdown)
    assert list_reporting_rules(evidence, "C113") == ({"C113"} if is_reported else set())


def test_unread_clocks_and_reasons_are_not_judged() -> None:
    evidence = copy_evidence()
    evidence.samples[["sm_mhz", "slowdown"]] = np.nan
    assert list_reporting_rules(evidence, "C113") == set()


# W127: constant temperature.


def test_temperature_may_be_missing_on_boards_that_do_not_give_it() -> None:
    evidence = copy_evidence()
    evidence.samples["temp_c"] = np.nan
    assert list_reporting_rules(evidence, "W127") == {"W127"}
    rename_boards(evidence, "AMD Instinct MI300X", "AMD")
    assert list_reporting_rules(evidence, "W127") == set()


def test_few_samples_may_have_one_temperature() -> None:
    evidence = copy_evidence()
    evidence.samples["temp_c"] = 60.0
    assert list_reporting_rules(evidence, "W127") == {"W127"}
    evidence.batches = evidence.batches[evidence.batches["epoch"] <= 2]
    assert list_reporting_rules(evidence, "W127") == set()


# X116 and X117: losses of two runs.

FIRST_LOSSES = (6.70, 6.68, 6.69, 6.66, 6.67, 6.63, 6.65, 6.61)


def make_repeat(name: str, **changes: object) -> RunSummary:
    """A run with the seed of the good run on other boards."""
    changes = {"seed": make_summary("a", 700).seed, "boards": ("other",), **changes}
    return make_other_summary(name, **changes)


def test_first_losses_of_equal_seeds_agree_but_for_rounding() -> None:
    run = replace(make_summary("a", 700), first_losses=FIRST_LOSSES)
    close = tuple(loss * (1 + 0.0005 * (-1) ** n) for n, loss in enumerate(FIRST_LOSSES))
    assert list_reported_runs("X116", run, make_repeat("b", first_losses=close)) == []
    higher = tuple(loss * 1.02 for loss in FIRST_LOSSES)
    far = make_repeat("b", first_losses=higher)
    assert list_reported_runs("X116", run, far) == ["a", "b"]
    assert list_reported_runs("X116", run, replace(far, seed=99)) == []
    assert list_reported_runs("X116", run, replace(far, standing="demo")) == []
    assert list_reported_runs("X116", run, replace(far, first_losses=())) == []
    third = make_repeat("c", first_losses=close)
    assert list_reported_runs("X116", run, far, third) == ["b"]


def test_runs_with_other_numbers_of_resident_batches_are_not_compared() -> None:
    run = replace(make_summary("a", 700), first_losses=FIRST_LOSSES)
    far = make_repeat("b", first_losses=tuple(loss * 1.02 for loss in FIRST_LOSSES))
    assert not have_equal_origin(run, far)
    more_batches = replace(far, resident_batches=512)
    assert have_equal_origin(run, more_batches)
    assert list_reported_runs("X116", run, more_batches) == []
    other_input = make_repeat("b", inputs=("1",))
    run = replace(run, inputs=("0",))
    assert list_reported_runs("X121", run, other_input) == ["a", "b"]
    assert list_reported_runs("X121", run, replace(other_input, resident_batches=512)) == []


def test_losses_that_do_not_change_agree_with_none() -> None:
    run = replace(make_summary("a", 700), first_losses=FIRST_LOSSES)
    constant = make_repeat("b", first_losses=8 * (float(np.mean(FIRST_LOSSES)),))
    assert "b" in list_reported_runs("X116", run, constant)


def test_equal_losses_need_equal_seeds_and_boards() -> None:
    run = make_summary("a", 700)
    assert len(run.epoch_losses) == 10
    evidence = copy_evidence()
    evidence.result["epochs"][-1]["loss"] = np.inf
    assert make_summary("a", 700, evidence).epoch_losses == run.epoch_losses[:9]
    copied = make_repeat("b", epoch_losses=run.epoch_losses)
    assert list_reported_runs("X117", run, copied) == ["a", "b"]
    assert list_reported_runs("X117", run, replace(copied, boards=run.boards)) == []
    assert list_reported_runs("X117", run, replace(copied, boards=run.boards, seed=99)) == [
        "a",
        "b",
    ]
    assert list_reported_runs("X117", run, replace(copied, standing="demo")) == []
    few = replace(copied, epoch_losses=(*run.epoch_losses[:4], *copied.epoch_losses[:1] * 6))
    assert list_reported_runs("X117", run, few) == []


def test_many_copies_of_one_run_are_compared_in_little_time() -> None:
    run = make_summary("a", 700)
    copies = [replace(run, path=Path("c/s") / str(n), seed=n) for n in range(2000)]
    assert len(list_reported_runs("X117", *copies)) == 2000
