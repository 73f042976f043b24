"""The counter at its changes, on made readings of a counter that is refreshed every 100 ms."""

from pathlib import Path

import numpy as np
import pytest
from conftest import copy_evidence

from rules.bundle import Bundle
from rules.bundle_format.table import Floats
from rules.metrics.counter import find_counter_changes
from rules.metrics.energy import MetricsError, build_trace, counter_energies
from rules.testing.frames import frame_of, table_of

PERIOD_S = 0.1
POWER_W = 700.0


def read_counter(reads_s: Floats, power_w: float = POWER_W) -> Floats:
    """The counter in J at each of n reads, shape (n,): the energy until the last refresh."""
    return power_w * PERIOD_S * np.floor(reads_s / PERIOD_S + 1e-9)


def read_around_refreshes(reads: int, offsets_s: Floats) -> tuple[Floats, Floats, Floats]:
    """Times, counter and energy by the power readings of reads that lie on the refresh."""
    times_s = PERIOD_S * np.arange(1, reads + 1) + offsets_s
    return times_s, read_counter(times_s), POWER_W * times_s


def measure_energy_j(times_s: Floats, counter_j: Floats, start_s: float, end_s: float) -> float:
    energies_j = counter_energies(times_s, counter_j, np.array([start_s]), np.array([end_s]))
    assert energies_j is not None
    return float(energies_j[0])


def test_reads_that_turn_old_between_two_edges_lose_no_energy() -> None:
    # Reads 100 to 299 come just before the refresh, all others just after it.
    offsets_s = np.full(400, 0.002)
    offsets_s[100:300] = -0.002
    reads = read_around_refreshes(400, offsets_s)
    truth_j = POWER_W * 10
    at_reads_j = measure_energy_j(*reads[:2], 5.05, 15.05)
    at_changes_j = measure_energy_j(*find_counter_changes(*reads), 5.05, 15.05)
    # The end is one period older than the start, so its last 70 J are missing.
    assert at_reads_j == pytest.approx(truth_j - 70, abs=3)
    assert at_changes_j == pytest.approx(truth_j, abs=3)


def test_reads_that_begin_old_are_as_old_as_the_first_step_of_two_periods_tells() -> None:
    offsets_s = np.full(400, 0.002)
    offsets_s[:200] = -0.002
    offsets_s[300] = -0.002
    reads = read_around_refreshes(400, offsets_s)
    assert measure_energy_j(*reads[:2], 5.05, 25.05) == pytest.approx(POWER_W * 20 + 70, abs=3)
    changes = find_counter_changes(*reads)
    assert measure_energy_j(*changes, 5.05, 25.05) == pytest.approx(POWER_W * 20, abs=3)


def test_single_repeat_is_left_out() -> None:
    offsets_s = np.full(100, 0.002)
    offsets_s[50] = -0.002
    times_s, counter_j = find_counter_changes(*read_around_refreshes(100, offsets_s))
    assert len(times_s) == 99
    assert measure_energy_j(times_s, counter_j, 2.0, 5.1) == pytest.approx(POWER_W * 3.1, abs=2)


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


def test_old_rule_books_interpolate_between_reads_and_new_ones_between_changes() -> None:
    evidence = copy_evidence()
    first = evidence.samples["accelerator"].iloc[0]
    rows = evidence.samples.index[evidence.samples["accelerator"] == first]
    # Repeats, each followed by a step of two periods, in scored epochs.
    for row in rows[60:-3:4]:
        earlier = rows[list(rows).index(row) - 1]
        evidence.samples.loc[row, "energy_mj"] = evidence.samples.loc[earlier, "energy_mj"]
    figures, stated = {}, {}
    for version in ("1.7.0", "1.8.0"):
        evidence.result["rules_version"] = version
        bundle = Bundle(Path("bundle"), (), evidence.evidence())
        figures[version], stated[version] = bundle.figures, bundle.stated_figures
    assert figures["1.7.0"] == figures["1.8.0"] == stated["1.8.0"]
    old_j, new_j = (stated[v].headline.energy_j_counter.mean for v in ("1.7.0", "1.8.0"))
    assert old_j != new_j and old_j == pytest.approx(new_j, rel=0.02)


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
