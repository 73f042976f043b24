"""Statistics on power readings: silent on every measured run and on made good ones, and each
separates what it says it does."""

import copy
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from support.bundles import make_evidence, make_serving_evidence, rederive
from support.committed_runs import find_studied_runs

from rules.bundle import Bundle
from rules.bundle_format.files import read_files
from rules.checks.forensics import (
    average_derived,
    counter_derived,
    power_apart_from_batches,
    power_apart_from_clock,
    power_apart_from_counter,
    power_patterns_repeated,
    readings_without_grain,
)
from rules.checks.power import capped_far_below_cap
from rules.copies.readings import find_step_mw
from rules.finding import Severity
from rules.known_results import is_held_by_cap
from rules.metrics.power.series import (
    ENOUGH,
    Series,
    correlate_lagged,
    mean_absolute_deviation,
    repeat_themselves,
    split_halves,
)
from rules.registry import rules_by_id
from rules.testing.cases.forensics import average_derived as derived_cases
from rules.testing.frames import EvidenceFrames, read_frames

MEASURED = find_studied_runs()
FEW_IN_FLIGHT = ("521bde", "97d2e3", "19cf8c")
"""Servers with 16, four and one requests in flight."""
STATISTICAL = [rule for rule in rules_by_id().values() if ".forensics." in rule.module]


@cache
def read_measured(path: Path) -> EvidenceFrames:
    evidence, problems = read_frames(read_files(path))
    assert evidence is not None, problems
    return evidence


def make_bundle(evidence: EvidenceFrames) -> Bundle:
    return Bundle(Path("center/system/run"), (), evidence.evidence())


def list_reporting_rules(evidence: EvidenceFrames) -> set[str]:
    judged = make_bundle(evidence)
    return {rule.id for rule in (*STATISTICAL, rules_by_id()["W119"]) if list(rule.judge(judged))}


def has_short_batches(judged: Bundle, series: Series) -> bool:
    """Whether one reading covers a whole batch or more."""
    windows_s = judged.read_batch_windows_s(series.accelerator)
    return windows_s is not None and bool(np.median(windows_s[1] - windows_s[0]) < 0.1)


def sort_readings_mw(series: Series) -> np.ndarray:
    return np.sort(np.round(series.under_load_w * 1e3).astype(np.int64))


def test_statistics_are_never_errors_and_leave_demos_alone() -> None:
    assert len(STATISTICAL) == 8
    for rule in STATISTICAL:
        assert rule.statistical
        assert rule.severity != Severity.ERROR, rule.id
        assert "demo" not in rule.standings, rule.id


@pytest.mark.parametrize("path", MEASURED, ids=lambda path: path.name[17:])
def test_measured_readings_are_far_from_every_limit(path: Path) -> None:
    judged = make_bundle(read_measured(path))
    for series in judged.measured_series:
        assert readings_without_grain.compute_distinct_share(sort_readings_mw(series)) < 0.6
        step_mw = find_step_mw(sort_readings_mw(series))
        assert step_mw is not None and 319 <= step_mw <= 328
        assert average_derived.find_nearest_mean(series)[0] > 1.5 * average_derived.LEAST_SHARE
        assert counter_derived.compute_deviation_share(series) > 4 * counter_derived.LEAST_SHARE
        correlation = power_apart_from_clock.correlate_with_clock(series)
        if series.capped_share < power_apart_from_clock.CAPPED_SHARE:
            assert correlation is None
        else:
            assert abs(correlation or 0) > 1.7 * power_apart_from_clock.LEAST
        with_counter = power_apart_from_counter.correlate_with_counter(series, judged)
        f_by_phase = power_apart_from_batches.compute_f_by_phase(series, judged)
        if has_short_batches(judged, series):
            assert with_counter is None and f_by_phase is None
        else:
            if path.name.endswith(FEW_IN_FLIGHT):
                assert with_counter is None
            else:
                assert abs(with_counter or 0) > 1.5 * power_apart_from_counter.LEAST
            assert f_by_phase is None or f_by_phase > 2 * power_apart_from_batches.LEAST_F
    repeated, _ = power_patterns_repeated.find_repeated_patterns(judged)
    assert repeated <= 2 < power_patterns_repeated.MIN_PATTERNS / 4


def test_measured_runs_with_short_batches_exist() -> None:
    short_runs = [
        path.name[-6:]
        for path in MEASURED
        if has_short_batches(judged := make_bundle(read_measured(path)), judged.series[0])
    ]
    assert {"a176f3", "cfae47"} <= set(short_runs)


def test_no_two_measured_series_have_a_pattern_in_common() -> None:
    """Some of the accelerators were in phase with the sampling."""
    pattern_sets = [
        np.unique(series.patterns)
        for path in MEASURED
        for series in make_bundle(read_measured(path)).series
    ]
    patterns = np.concatenate(pattern_sets)
    patterns = patterns[~repeat_themselves(patterns)]
    assert len(pattern_sets) >= 24 and len(patterns) > 40_000
    assert len(np.unique(patterns)) == len(patterns)


@pytest.mark.parametrize("path", MEASURED, ids=lambda path: path.name[17:])
def test_halved_power_with_everything_derived_anew_is_an_error_on_measured_runs(path: Path) -> None:
    forgery = copy.deepcopy(read_measured(path))
    for column in ("power_mw", "power_avg_mw", "energy_mj"):
        forgery.samples[column] = (forgery.samples[column] * 0.5).round()
    rederive(forgery)
    assert rules_by_id()["W119"].severity == Severity.ERROR
    # Without the cap as the reason for its clock, a board may draw any power, and so may one that
    # runs a submitter's own code with a clock above the ceilings.
    bundle = make_bundle(forgery)
    series = bundle.series[0]
    is_capped = series.capped_share >= capped_far_below_cap.CAPPED_SHARE
    is_error = is_capped and is_held_by_cap(bundle, series)
    assert list_reporting_rules(forgery) == ({"W119", "W121"} if is_error else {"W121"})
    assert is_error == (is_capped and bundle.implementation.sha256 is None)


def test_power_a_little_lower_shows_in_the_steps_alone() -> None:
    forgery = copy.deepcopy(read_measured(MEASURED[0]))
    for column in ("power_mw", "power_avg_mw", "energy_mj"):
        forgery.samples[column] = (forgery.samples[column] * 0.95).round()
    assert list_reporting_rules(forgery) == {"W121"}


def test_noise_on_the_sensors_steps_is_apart_from_clock_and_batches() -> None:
    """The best forgery that we know of: right spread, right steps, counter and average with noise
    of their own."""
    forgery = copy.deepcopy(read_measured(MEASURED[0]))
    random = np.random.default_rng(4)
    for series in make_bundle(forgery).series:
        noise_w = series.under_load_w.mean() + random.normal(
            0, series.under_load_w.std(), int(series.load.sum())
        )
        power_w = series.power_w.copy()
        power_w[series.load] = np.round(noise_w / 0.322) * 0.322
        noise_w = random.normal(0, series.under_load_w.std() / 2, len(power_w) - 1)
        steps_j = np.diff(series.read_s) * ((power_w[1:] + power_w[:-1]) / 2 + noise_w)
        forgery.samples.loc[series.samples.places, "power_mw"] = np.round(power_w * 1e3)
        forgery.samples.loc[series.samples.places, "energy_mj"] = np.round(
            1e3 * (1e3 + np.concatenate(([0.0], np.cumsum(steps_j))))
        )
    assert list_reporting_rules(forgery) == {"W123", "T120"}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("make", [make_evidence, make_serving_evidence])
def test_made_runs_look_like_a_sensor(make: object, seed: int) -> None:
    assert list_reporting_rules(make(seed)) == set()  # type: ignore[operator]


def keep_four_epochs(evidence: EvidenceFrames) -> None:
    evidence.batches = evidence.batches[evidence.batches["epoch"] <= 3]


def of_a_board_that_nobody_measured(evidence: EvidenceFrames) -> None:
    for accelerator in evidence.system["nodes"][0]["accelerators"]:
        accelerator["name"] = "NVIDIA H100 80GB HBM3"


def only_averages(evidence: EvidenceFrames) -> None:
    evidence.samples["power_mw"] = np.nan


@pytest.mark.parametrize(
    "alter",
    [keep_four_epochs, of_a_board_that_nobody_measured, only_averages],
    ids=lambda f: f.__name__,
)
def test_nothing_is_said_of_readings_that_tell_too_little(alter: object) -> None:
    evidence = make_evidence()
    evidence.samples["power_mw"] = (
        evidence.samples["power_mw"].mean().round() + np.arange(len(evidence.samples)) % 7 * 1000.0
    )
    evidence.samples["sm_mhz"] = np.arange(len(evidence.samples)) % 11 * 15.0
    alter(evidence)  # type: ignore[operator]
    assert list_reporting_rules(evidence) <= {"W119"}


def test_average_that_is_derived_under_load_alone_is_noticed() -> None:
    evidence = make_evidence()
    derived_cases.average_over_ten_readings(evidence)
    for series in make_bundle(evidence).series:
        evidence.samples.loc[series.samples.places[~series.load], "power_avg_mw"] = 0
    assert "W122" in list_reporting_rules(evidence)


def test_counter_and_clock_that_were_not_read_are_left_out() -> None:
    evidence = make_evidence()
    evidence.samples["energy_mj"] = np.nan
    evidence.samples["sm_mhz"] = np.nan
    assert list_reporting_rules(evidence) == set()


# W119: what the board says against what it draws.


@pytest.mark.parametrize(("share", "expected"), [(0.85, False), (0.78, True)])
def test_capped_board_may_be_somewhat_below_its_cap(share: float, expected: bool) -> None:
    evidence = make_evidence()
    for column in ("power_mw", "power_avg_mw", "energy_mj"):
        evidence.samples[column] *= share
    assert ("W119" in list_reporting_rules(evidence)) is expected


@pytest.mark.parametrize(
    ("share", "every", "column", "reading"),
    [(0.5, 5, "slowdown", 0.0), (0.7, 7, "power_mw", 710_000.0)],
    ids=["not capped", "held down by its bursts"],
)
def test_board_that_says_why_may_draw_little(
    share: float, every: int, column: str, reading: float
) -> None:
    evidence = make_evidence()
    for scaled in ("power_mw", "power_avg_mw", "energy_mj"):
        evidence.samples[scaled] *= share
    assert "W119" in list_reporting_rules(evidence)
    evidence.samples.loc[::every, column] = reading
    assert "W119" not in list_reporting_rules(evidence)


def test_averages_alone_say_nothing_of_bursts() -> None:
    evidence = make_evidence()
    evidence.samples["power_mw"] = np.nan
    evidence.samples[["power_avg_mw", "energy_mj"]] *= 0.5
    assert "W119" not in list_reporting_rules(evidence)


def test_board_of_which_the_book_knows_nothing_is_left_alone() -> None:
    evidence = make_evidence()
    for column in ("power_mw", "power_avg_mw", "energy_mj"):
        evidence.samples[column] *= 0.5
    for accelerator in evidence.system["nodes"][0]["accelerators"]:
        accelerator["name"] = "NVIDIA GH300"
    assert "W119" not in list_reporting_rules(evidence)


# The statistics.


def test_spread_is_the_mean_absolute_deviation() -> None:
    assert mean_absolute_deviation(np.array([1.0, 2.0, 3.0, 4.0, 5.0])) == 1.2
    assert mean_absolute_deviation(np.array([np.nan, 5.0, 7.0])) == 1.0
    assert mean_absolute_deviation(np.array([np.nan])) == 0.0


def test_correlation_is_found_at_its_lag_and_with_its_sign() -> None:
    series = np.random.default_rng(0).normal(size=2000)
    assert correlate_lagged(series, series, 0) == pytest.approx(1.0)
    assert correlate_lagged(series, -np.roll(series, 3), 5) == pytest.approx(-1.0, abs=0.01)
    assert abs(correlate_lagged(series, np.roll(series, 3), 2) or 0) < 0.1
    assert correlate_lagged(series, np.full(2000, 7.0), 5) is None
    gaps = series.copy()
    gaps[::3] = np.nan
    assert (correlate_lagged(series, gaps, 0) or 0) > 0.75
    assert correlate_lagged(series, np.full(2000, np.nan), 5) is None


def test_only_long_series_are_halved() -> None:
    assert split_halves(2 * ENOUGH - 1) == (slice(0, 2 * ENOUGH - 1),)
    assert split_halves(2 * ENOUGH) == (slice(0, ENOUGH), slice(ENOUGH, 2 * ENOUGH))


def test_only_batch_of_a_series_has_phases() -> None:
    (series, *_) = make_bundle(make_evidence()).series
    start_s = series.read_s[series.load][:1]
    judged = SimpleNamespace(read_batch_windows_s=lambda _: (start_s, start_s + 1.0))
    assert power_apart_from_batches.compute_f_by_phase(series, judged) is not None  # type: ignore[arg-type]


def test_readings_two_watts_apart_are_expected_to_differ() -> None:
    assert readings_without_grain.compute_distinct_share(np.array([0, 2000])) == pytest.approx(1)


def test_step_is_that_of_the_readings() -> None:
    random = np.random.default_rng(0)
    steps = np.sort(np.round(random.normal(690_000, 40_000, 3000) / 322).astype(np.int64))
    assert find_step_mw(steps * 322) == 322
    assert find_step_mw(steps * 161) == 161
    assert find_step_mw(np.array([690_000, 690_400])) is None


@pytest.mark.parametrize("offset_mw", [70, 140, 150, 250])
@pytest.mark.parametrize("scatter_mw", [1, 25])
def test_step_is_found_on_two_grids(offset_mw: int, scatter_mw: int) -> None:
    """The readings of a server with one request in flight lie on two grids: most neighbours are on
    different ones."""
    for seed in range(20):
        random = np.random.default_rng(seed)
        first, second = (np.unique(random.integers(0, 400, 300)) * 326 for _ in range(2))
        scatter = random.integers(0, scatter_mw, len(second))
        readings = np.sort(np.concatenate([first, second + offset_mw + scatter]))
        assert find_step_mw(readings) == pytest.approx(326, abs=1)


def test_value_that_is_hidden_from_half_the_run_shows_in_the_other() -> None:
    """Half of the readings of another run: over the whole run, the other half would still make up
    for it."""
    evidence = make_evidence()
    for series in make_bundle(evidence).series:
        late = series.samples.places[series.load][int(series.load.sum()) // 2 :]
        values = evidence.samples.loc[late, "power_mw"].to_numpy()
        evidence.samples.loc[late, "power_mw"] = np.random.default_rng(1).permutation(values)
    assert {"W123", "T120"} <= list_reporting_rules(evidence)
