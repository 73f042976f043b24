"""Readings that no node can have had: spikes, stretches without signal, marks of no value."""

import numpy as np
import pytest
from support.harness.power_logs import START_S, UNIX, list_kinds, make_map, read_lines

from harness.power_logs.summary import summarise
from rules.power_logs.records import PowerLog, PowerLogError

MAP = make_map(UNIX, 'column = "power_w"\nunit = "W"')


def read_powers(tmp_path, powers_w, csv_map: str = MAP, **options) -> PowerLog:
    rows = [f"{START_S + i},{power_w:.3f}" for i, power_w in enumerate(powers_w)]
    return read_lines(tmp_path, ["timestamp,power_w", *rows], csv_map, **options)


def make_level(level_w: float, count: int = 60) -> np.ndarray:
    return level_w * (1 + 0.01 * np.random.default_rng(1).random(count))


def test_spikes_are_reported_and_left_out(tmp_path):
    powers_w = make_level(70.5)
    powers_w[[20, 41]] = 9000
    log = read_powers(tmp_path, powers_w)
    assert list_kinds(log) == [("spike", 22), ("spike", 43)]
    assert "127 times the 70." in log.problems.list_all()[0].found
    summary = summarise(log)
    assert summary.total.mean_w == pytest.approx(70.85, abs=0.1)
    # Two readings are missing, each between neighbours 2 s apart, within the range of the others.
    spread_w = np.delete(powers_w, [20, 41]).max() - np.delete(powers_w, [20, 41]).min()
    assert summary.left_out == 2 and 0 < summary.energy_bound_j <= 2 * 2 * spread_w
    true_j = np.delete(powers_w, [20, 41]).mean() * 59
    assert abs(summary.total.energy_j - true_j) <= summary.energy_bound_j


@pytest.mark.parametrize("rows", [[0], [59], [20, 21], [20, 21, 22]])
def test_spikes_at_an_end_or_of_several_readings_are_found(tmp_path, rows):
    powers_w = make_level(70)
    powers_w[rows] = 5000
    log = read_powers(tmp_path, powers_w)
    assert list_kinds(log)[0] == ("spike", rows[0] + 2) and len(log) == 60 - len(rows)


@pytest.mark.parametrize(
    "powers_w",
    [
        np.r_[make_level(8), make_level(450)],
        np.r_[make_level(70), make_level(700, 3), make_level(70)],
        np.r_[make_level(10), make_level(400, 5), make_level(10), make_level(350, 2)],
        np.r_[make_level(300), make_level(30, 20), make_level(300)],
    ],
    ids=["load", "burst-of-a-board", "bursts", "idle"],
)
def test_loads_and_pauses_are_no_spikes(tmp_path, powers_w):
    assert list_kinds(read_powers(tmp_path, powers_w)) == []


def test_power_far_above_the_rating_is_left_out_however_long(tmp_path):
    powers_w = np.r_[make_level(900), make_level(5000, 5), make_level(900)]
    assert list_kinds(read_powers(tmp_path, powers_w)) == []
    log = read_powers(tmp_path, powers_w, rating_w=2000.0)
    assert ("above-rating", 62) in list_kinds(log) and len(log) == 120


def make_lost(noise_w: float = 3.0) -> np.ndarray:
    """A feed that loses its signal for 77 s: noise around zero."""
    powers_w = make_level(3200, 1200)
    powers_w[500:577] = np.random.default_rng(2).normal(0, noise_w, 77)
    return powers_w


def test_stretch_without_signal_is_left_out_as_a_whole(tmp_path):
    powers_w = make_lost()
    log = read_powers(tmp_path, powers_w)
    assert list_kinds(log) == [("signal-lost", 502), ("gap", 579)]
    summary = summarise(log)
    assert summary.left_out == 77
    assert summary.total.energy_j == pytest.approx(3216 * 1199, rel=1e-3)
    assert summary.energy_bound_j <= 78 * 32


def test_zeros_between_loads_are_no_readings(tmp_path):
    powers_w = make_level(300)
    powers_w[30] = 0
    log = read_powers(tmp_path, powers_w)
    assert list_kinds(log) == [("signal-lost", 32)] and len(log) == 59


@pytest.mark.parametrize("place", [slice(0, 5), slice(55, 60)])
def test_zeros_before_the_load_or_behind_it_are_readings(tmp_path, place):
    powers_w = make_level(300)
    powers_w[place] = 0
    log = read_powers(tmp_path, powers_w)
    assert list_kinds(log) == [] and len(log) == 60


def read_two_supplies(tmp_path, first_w, second_w) -> PowerLog:
    rows = [
        f"{START_S + i},{a:.3f},{b:.3f}"
        for i, (a, b) in enumerate(zip(first_w, second_w, strict=True))
    ]
    csv_map = make_map(UNIX, 'columns = ["a", "b"]\nunit = "W"')
    return read_lines(tmp_path, ["timestamp,a,b", *rows], csv_map)


def test_supply_whose_load_another_takes_over_stands_still(tmp_path):
    first_w, second_w = make_lost(), make_level(3200, 1200)
    assert ("signal-lost", 502) in list_kinds(read_two_supplies(tmp_path, first_w, second_w))
    first_w[500:577] = 0
    second_w[500:577] *= 2
    log = read_two_supplies(tmp_path, first_w, second_w)
    assert list_kinds(log) == [] and len(log) == 1200


def test_single_readings_with_the_sign_flipped_are_left_out_and_bounded(tmp_path):
    powers_w = make_level(9600, 900)
    powers_w[4::9] = -36
    log = read_powers(tmp_path, powers_w)
    summary = summarise(log)
    assert {kind for kind, _ in list_kinds(log)} == {"negative-power"}
    assert summary.left_out_share == pytest.approx(0.11, abs=0.01)
    assert summary.total.mean_w == pytest.approx(9648, rel=1e-3)
    assert 0 < summary.energy_bound_j < 0.01 * summary.total.energy_j


def test_log_that_is_negative_for_half_of_its_readings_is_refused(tmp_path):
    powers_w = make_level(9600, 100)
    powers_w[::2] *= -1
    with pytest.raises(PowerLogError, match="50 of 100 readings would be left out"):
        read_powers(tmp_path, powers_w)


def make_channels(second: int, first_w: float, second_w: float, volts: str = "230.000000") -> str:
    def part(power_w: float) -> str:
        amps = "-1.000000" if power_w < 0 else f"{power_w / 230 / 0.95:.6f}"
        factor = "-1.000000" if power_w < 0 else "0.950000"
        return f"Watts,{power_w:.6f},Volts,{volts},Amps,{amps},PF,{factor}"

    total_w = first_w if first_w < 0 else first_w + second_w
    return (
        f"Time,03-04-2026 10:00:{second:02}.096,{part(total_w)},Ch1,{part(first_w)},"
        f"Ch2,{part(second_w)}"
    )


def test_mark_of_no_value_in_all_channels_is_no_torn_line(tmp_path):
    lines = [make_channels(i, 200 + i, 100) for i in range(20)]
    lines[7] = make_channels(7, -1, -1, "-1.000000")
    log = read_lines(tmp_path, lines)
    assert set(list_kinds(log)) == {("sentinel", 8)} and len(log) == 19


@pytest.mark.parametrize(
    ("message", "kinds"),
    [
        ("07-28-2025 08:59:03.222: Response to client sent: ", []),
        (" 07-28-2025 08:59:03.222: NOTICE: Range changed", []),
        (
            "07-28-2025 08:59:03.222: WARNING: Uncertainty unknown for the last sample!",
            [("meter-message", 4)],
        ),
        (",ERROR,Bad reading", [("meter-message", 4)]),
    ],
)
def test_message_behind_a_whole_reading_leaves_the_reading(tmp_path, message, kinds):
    lines = [make_channels(i, 200 + i, 100) for i in range(6)]
    lines[3] += message
    log = read_lines(tmp_path, lines)
    assert list_kinds(log) == kinds and len(log) == 6


@pytest.mark.parametrize("count", [1, 2])
def test_fewer_than_three_readings_are_no_log(tmp_path, count):
    found = "one reading" if count == 1 else "2 readings"
    with pytest.raises(PowerLogError, match=rf"line 2: total has {found}.*energy is unknown"):
        read_powers(tmp_path, make_level(310, count))


def test_readings_in_pairs_are_no_gaps_and_real_gaps_are(tmp_path):
    times_s = np.repeat(np.arange(60) / 10, 2) + np.tile([0, 1e-4], 60)
    times_s[60:] += 3
    rows = [f"{START_S + t:.4f},{300 + i // 2 % 5}" for i, t in enumerate(times_s)]
    log = read_lines(tmp_path, ["timestamp,power_w", *rows], f'feed = "gpu"\n{MAP}')
    assert list_kinds(log) == [("gap", 62), ("repeats", 0)]


def test_log_of_changes_holds_each_power_until_the_next(tmp_path):
    rows = ["timestamp,power_w", f"{START_S},300", f"{START_S + 10},600"]
    csv_map = make_map(UNIX, 'column = "power_w"\nunit = "W"', interval="until-next")
    log = read_lines(tmp_path, rows, csv_map)
    total = summarise(log).total
    assert (total.energy_j, total.mean_over_time_w, total.median_w) == (3000, 300, 300)
    assert list_kinds(log) == []


TRACE = [100.0, 100.0, 300.0, 500.0, 500.0, 500.0, 500.0]


def test_figures_of_a_trace_are_those_of_its_interval(tmp_path):
    """Seven readings, ten seconds: mean of the readings and energy over time differ."""
    times_s = [0, 1, 2, 4, 6, 8, 10]
    rows = [f"{START_S + t},{p}" for t, p in zip(times_s, TRACE, strict=True)]
    energies_j = {"instant": 4100, "mean-before": 4400, "until-next": 3800}
    for interval, energy_j in energies_j.items():
        csv_map = make_map(UNIX, 'column = "power_w"\nunit = "W"', interval=interval)
        total = summarise(read_lines(tmp_path, ["timestamp,power_w", *rows], csv_map)).total
        assert total.energy_j == pytest.approx(energy_j)
        assert total.mean_over_time_w == pytest.approx(energy_j / 10)
        assert total.mean_w == pytest.approx(2500 / 7) and total.max_w == 500


def test_highest_minute_median_and_share_of_the_rating(tmp_path):
    powers_w = np.r_[np.full(120, 500.0), np.full(60, 1500.0), np.full(121, 400.0)]
    powers_w += np.arange(301) % 2
    log = read_powers(tmp_path, powers_w, rating_w=2000.0)
    summary = summarise(log, 2000.0)
    assert summary.total.max_60s_w == pytest.approx(1492, abs=10)
    assert summary.max_60s_share_of_rating == pytest.approx(summary.total.max_60s_w / 2000)
    assert summary.total.median_w == 500 and summary.total.p99_w == 1501
    assert summarise(read_powers(tmp_path, powers_w[:50])).total.max_60s_w is None
