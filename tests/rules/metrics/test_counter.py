"""The counter at its changes, on made readings of a counter that is refreshed every 100 ms."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from conftest import copy_evidence

from rules import VERSION
from rules.bundle import Bundle
from rules.bundle_format.table import Floats
from rules.metrics.counter import find_counter_changes
from rules.metrics.energy import MetricsError, build_trace, counter_energies
from rules.testing.frames import EvidenceFrames, frame_of, table_of

PERIOD_S = 0.1
POWER_W = 700.0


def read_counter(reads_s: Floats, power_w: float = POWER_W) -> Floats:
    """The counter in J at each of n reads, shape (n,): the energy until the last refresh."""
    return power_w * PERIOD_S * np.floor(reads_s / PERIOD_S + 1e-9)


def read_around_refreshes(reads: int, offsets_s: Floats) -> tuple[Floats, Floats, Floats]:
    """Times, counter and energy by the power readings of reads that lie on the refresh."""
    times_s = PERIOD_S * np.arange(1, reads + 1) + offsets_s
    return times_s, read_counter(times_s), POWER_W * times_s


def lie_on_refresh(reads: int) -> Floats:
    """Offsets of reads that come 2 ms after the refresh, and every twentieth 2 ms before it."""
    offsets_s = np.full(reads, 0.002)
    offsets_s[15::20] = -0.002
    return offsets_s


def measure_energy_j(times_s: Floats, counter_j: Floats, start_s: float, end_s: float) -> float:
    energies_j = counter_energies(times_s, counter_j, np.array([start_s]), np.array([end_s]))
    assert energies_j is not None
    return float(energies_j[0])


def test_reads_that_turn_old_between_two_edges_lose_no_energy() -> None:
    # Reads 100 to 299 come just before the refresh, most others just after it.
    offsets_s = lie_on_refresh(400)
    offsets_s[100:300] = -0.002
    reads = read_around_refreshes(400, offsets_s)
    truth_j = POWER_W * 10
    at_reads_j = measure_energy_j(*reads[:2], 5.05, 15.05)
    at_changes_j = measure_energy_j(*find_counter_changes(*reads), 5.05, 15.05)
    # The end is one period older than the start, so its last 70 J are missing.
    assert at_reads_j == pytest.approx(truth_j - 70, abs=3)
    assert at_changes_j == pytest.approx(truth_j, abs=3)


def test_reads_that_begin_old_are_as_old_as_the_first_step_of_two_periods_tells() -> None:
    offsets_s = lie_on_refresh(400)
    offsets_s[:200] = -0.002
    reads = read_around_refreshes(400, offsets_s)
    assert measure_energy_j(*reads[:2], 5.05, 25.05) == pytest.approx(POWER_W * 20 + 70, abs=3)
    changes = find_counter_changes(*reads)
    assert measure_energy_j(*changes, 5.05, 25.05) == pytest.approx(POWER_W * 20, abs=3)


def test_a_few_repeats_do_not_tell_the_age_of_other_values() -> None:
    """A late read without a time stamp of its own looks like one on time."""
    offsets_s = np.full(400, 0.05)
    times_s, counter_j, power_j = read_around_refreshes(400, offsets_s)
    counter_j[100] = counter_j[101]
    power_j[200:] -= 35
    changes = find_counter_changes(times_s, counter_j, power_j)
    assert len(changes[0]) == 399
    assert measure_energy_j(*changes, 15.05, 25.05) == pytest.approx(POWER_W * 10, abs=1)


def test_single_repeat_is_left_out() -> None:
    offsets_s = np.full(100, 0.002)
    offsets_s[50] = -0.002
    times_s, counter_j = find_counter_changes(*read_around_refreshes(100, offsets_s))
    assert len(times_s) == 99
    assert measure_energy_j(times_s, counter_j, 2.0, 5.1) == pytest.approx(POWER_W * 3.1, abs=2)


def test_late_read_says_nothing_about_the_age_of_the_next_values() -> None:
    # The refresh lies in the middle between two reads. Read 100 is 60 ms late and finds the value
    # of the next one. At read 200 the power readings follow the load late and miss 35 J.
    offsets_s = np.full(400, 0.05)
    offsets_s[100] += 0.06
    times_s, counter_j, power_j = read_around_refreshes(400, offsets_s)
    power_j[200:] -= 35
    reads = times_s, counter_j, power_j
    changes = find_counter_changes(*reads)
    assert times_s[100] not in changes[0] and len(changes[0]) == 399
    assert measure_energy_j(*changes, 15.05, 25.05) == pytest.approx(POWER_W * 10, abs=1)
    assert measure_energy_j(*changes, 5.05, 25.05) == pytest.approx(POWER_W * 20, abs=1)
    # Rule book 1.8.0 takes the values from there to read 200 for old ones.
    changes = find_counter_changes(*reads, trust_late_reads=True)
    assert measure_energy_j(*changes, 15.05, 25.05) == pytest.approx(POWER_W * 10 - 70, abs=1)


def test_first_read_stays_if_it_is_late() -> None:
    offsets_s = np.full(100, 0.05)
    offsets_s[0] += 0.06
    times_s, _ = find_counter_changes(*read_around_refreshes(100, offsets_s))
    assert times_s[0] == pytest.approx(0.21)


def test_counter_without_repeats_is_not_changed() -> None:
    times_s, counter_j, power_j = read_around_refreshes(100, np.full(100, 0.03))
    result = find_counter_changes(times_s, counter_j, power_j)
    assert result[0] is times_s and result[1] is counter_j


def test_counter_that_is_refreshed_less_often_than_it_is_read_is_interpolated() -> None:
    times_s = 0.1 * np.arange(200) + 0.003
    counter_j = POWER_W * np.floor(times_s)
    changes = find_counter_changes(times_s, counter_j, POWER_W * times_s)
    # Half a second after a refresh, all reads have lost half of its energy.
    at_reads_j = measure_energy_j(times_s, counter_j, 3.01, 9.5)
    assert at_reads_j == pytest.approx(POWER_W * 6, abs=1)
    assert measure_energy_j(*changes, 3.01, 9.5) == pytest.approx(POWER_W * 6.49, abs=5)


def test_counter_that_stands_still_without_power_is_not_changed() -> None:
    times_s = 0.1 * np.arange(100) + 0.05
    energy_j = POWER_W * PERIOD_S * (np.arange(100) - (np.arange(100) >= 50))
    result = find_counter_changes(times_s, energy_j, energy_j)
    assert result[0] is times_s and result[1] is energy_j


def test_counter_that_stops_keeps_its_last_value_until_the_last_read() -> None:
    times_s = 0.1 * np.arange(100) + 0.05
    counter_j = np.minimum(read_counter(times_s), POWER_W * 6)
    times, values = find_counter_changes(times_s, counter_j, POWER_W * times_s)
    assert times[-1] == times_s[-1] and values[-1] == POWER_W * 6
    assert measure_energy_j(times, values, 7.0, 9.9) == 0


def test_counter_that_stands_still_for_a_second_does_so_after_it_goes_on() -> None:
    times_s = 0.1 * np.arange(200) + 0.05
    counter_j = read_counter(times_s)
    counter_j[100:110] = counter_j[100]
    changes = find_counter_changes(times_s, counter_j, POWER_W * times_s)
    assert measure_energy_j(*changes, times_s[101], times_s[108]) == 0


def state_energies_j(evidence: EvidenceFrames) -> dict[str, float]:
    """The energy of the headline that a run states, by rule book. The recomputed figures are the
    same in all of them."""
    energies_j, figures = {}, []
    for version in ("1.7.0", "1.8.0", VERSION):
        evidence.result["rules_version"] = version
        bundle = Bundle(Path("bundle"), (), evidence.evidence())
        energies_j[version] = bundle.stated_figures.headline.energy_j_counter.mean
        figures.append(bundle.figures)
    assert figures[0] == figures[1] == figures[2] == bundle.stated_figures
    return energies_j


def list_rows_of_first_board(evidence: EvidenceFrames) -> list[int]:
    boards = evidence.samples["accelerator"]
    return list(evidence.samples.index[boards == boards.iloc[0]])


def test_old_rule_books_interpolate_between_reads_and_new_ones_between_changes() -> None:
    evidence = copy_evidence()
    rows = list_rows_of_first_board(evidence)
    # Repeats, each followed by a step of two periods, in scored epochs.
    for before, row in list(pairwise(rows))[59:-3:4]:
        evidence.samples.loc[row, "energy_mj"] = evidence.samples.loc[before, "energy_mj"]
    energies_j = state_energies_j(evidence)
    assert energies_j["1.8.0"] == energies_j[VERSION] != energies_j["1.7.0"]
    assert energies_j["1.7.0"] == pytest.approx(energies_j[VERSION], rel=0.02)


def test_rule_book_1_8_takes_late_reads_for_reads_on_time() -> None:
    evidence = copy_evidence()
    rows = list_rows_of_first_board(evidence)
    # Late reads, which find the value that the next read finds too.
    for row, after in list(pairwise(rows))[59:-3:4]:
        evidence.samples.loc[row, "read_ns"] += 60_000_000
        evidence.samples.loc[row, "energy_mj"] = evidence.samples.loc[after, "energy_mj"]
    energies_j = state_energies_j(evidence)
    assert len(set(energies_j.values())) == 3
    assert energies_j["1.8.0"] == pytest.approx(energies_j[VERSION], rel=0.02)


def test_time_of_the_counter_counts_where_the_samples_have_it() -> None:
    samples = frame_of(copy_evidence().evidence().samples)
    samples = samples[samples["accelerator"] == samples["accelerator"].iloc[0]]
    plain = build_trace(table_of(samples))
    samples["mem_power_mw"], samples["counter_ns"] = np.nan, samples["read_ns"] + 7_000_000
    apart = build_trace(table_of(samples))
    assert apart.counter_times_s == pytest.approx(plain.counter_times_s + 0.007)
    assert (apart.read_s == plain.read_s).all()
    samples["counter_ns"] -= 8_000_000
    with pytest.raises(MetricsError, match="before the read_ns"):
        build_trace(table_of(samples))
