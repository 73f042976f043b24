"""CSV logs with a map: units, times, damage, and maps that are refused."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from harness.power_logs.read import read_log
from harness.power_logs.summary import summarise
from rules.power_logs.read import LogRequest
from rules.power_logs.records import LogProblem, PowerLog, PowerLogError

MAP = """
interval = "mean-before"
[time]
column = "time"
format = "iso"
[power]
column = "power"
unit = "W"
"""
UNIX_MAP = MAP.replace('format = "iso"', 'format = "unix"\nunit = "{unit}"')


def read_csv(tmp_path: Path, csv_map: str, *lines: str, **options: str) -> PowerLog:
    (tmp_path / "map.toml").write_text(csv_map)
    (tmp_path / "log.csv").write_text("\n".join(lines) + "\n")
    return read_log(LogRequest(tmp_path / "log.csv", map_path=tmp_path / "map.toml", **options))


def test_columns_units_and_offsets_are_those_of_the_map(tmp_path):
    csv_map = """
    delimiter = ";"
    decimal = ","
    comment = "//"
    interval = "instant"
    feed = "psu1"
    [time]
    column = "Zeit"
    format = "%d.%m.%Y %H:%M:%S"
    zone = "Europe/Berlin"
    [power]
    column = "Leistung"
    unit = "kW"
    [voltage]
    column = "U"
    unit = "V"
    [current]
    column = "I"
    unit = "mA"
    [pf]
    column = "cos phi"
    unit = "%"
    [energy]
    column = "E"
    unit = "kWh"
    """
    log = read_csv(
        tmp_path,
        csv_map,
        "// logger 3",
        "E;Leistung;Zeit;U;I;cos phi",
        "10,5;2,3;28.07.2025 08:14:05;230;10000;100",
        "",
        '10,5;"2,5";28.07.2025 08:14:07;230;10869,565;100',
        "10,5;2,3;28.07.2025 08:14:09;230;10000;100",
    )
    assert log.series[0].power_w.tolist() == [2300, 2500, 2300] and log.feeds == ["psu1"]
    assert log.series[0].columns["psu1", "energy_j"][0] == pytest.approx(37.8e6)
    summary = summarise(log)
    assert summary.start == "2025-07-28T06:14:05.000Z" and summary.total.energy_j == 9600
    assert not summary.problems


@pytest.mark.parametrize(
    ("unit", "times"),
    [
        ("s", ("1745514104.25", "1745514105.25", "1.74551410625e9")),
        ("ms", ("1745514104250", "1745514105250.0", "1745514106250")),
        ("us", ("1745514104250000", "1745514105250000", "1745514106250000.5")),
        ("ns", ("1745514104250000000", "1745514105250000000", "1745514106250000000")),
    ],
)
def test_unix_times_of_each_unit_are_exact(tmp_path, unit, times):
    rows = [f"{time},5{i}" for i, time in enumerate(times)]
    log = read_csv(tmp_path, UNIX_MAP.format(unit=unit), "time,power", *rows)
    first_ns = 1_745_514_104_250_000_000
    steps_ns = [0, 10**9, 2 * 10**9 + 500 * (unit == "us")]
    assert log.series[0].times_ns.tolist() == [first_ns + step_ns for step_ns in steps_ns]


def test_unix_time_in_another_unit_is_reported(tmp_path):
    rows = ["time,power", "1745514104,5", "1745514105000,6", "9999999999999,7"]
    rows += ["1745514106000,8", "1745514107000,9"]
    log = read_csv(tmp_path, UNIX_MAP.format(unit="ms"), *rows)
    assert [p.line for p in log.problems.list_all()] == [2, 4] and len(log) == 3


def test_mean_and_instant_readings_differ_in_energy(tmp_path):
    rows = ["time,power", "2025-01-01T00:00:00Z,100", "2025-01-01T00:00:10+00:00,300"]
    rows.append("2025-01-01T00:00:20Z,400")
    energies_j = {}
    for interval in ("mean-before", "instant", "until-next"):
        csv_map = MAP.replace("mean-before", interval)
        energies_j[interval] = summarise(read_csv(tmp_path, csv_map, *rows)).total.energy_j
    assert energies_j == {"mean-before": 7000, "instant": 5500, "until-next": 4000}


ENERGY_MAP = MAP + '[energy]\ncolumn = "energy"\nunit = "Wh"\n'


def list_energy_problems(tmp_path: Path, energies_wh: Iterable[float]) -> list[LogProblem]:
    """The problems of a log of about 1 kW, with one reading per second and this counter."""
    rows = [
        f"2025-01-01T{i // 3600:02}:{i // 60 % 60:02}:{i % 60:02}Z,{1000 + i % 3},{energy_wh:.4f}"
        for i, energy_wh in enumerate(energies_wh)
    ]
    log = read_csv(tmp_path, ENERGY_MAP, "time,power,energy", *rows)
    problems = log.problems.list_all()
    assert {p.kind for p in problems} <= {"energy-mismatch", "energy-falls", "repeats"}
    return [p for p in problems if p.kind != "repeats"]


def count_wh(seconds: int, factor: float = 1.0, step_wh: float = 1e-4) -> list[float]:
    """A counter of 1001 W, read once a second, that is wrong by a factor."""
    return [i * 1001 / 3600 * factor // step_wh * step_wh for i in range(seconds)]


@pytest.mark.parametrize(
    ("factor", "step_wh"), [(1.0, 1e-4), (0.99, 1e-4), (1.01, 1e-4), (0.97, 10), (1.5, 100)]
)
def test_counter_that_agrees_with_the_power_or_is_too_coarse_is_no_problem(
    tmp_path, factor, step_wh
):
    assert list_energy_problems(tmp_path, count_wh(300, factor, step_wh)) == []


@pytest.mark.parametrize(
    ("factor", "step_wh", "difference"),
    [
        (0.97, 1e-4, "+3.1%"),
        (1.03, 1e-4, "-2.9%"),
        (1.15, 1, "-12.5%"),
        (3.6, 1e-4, "-72.2%"),
    ],
)
def test_counter_that_contradicts_the_power_is_a_problem(tmp_path, factor, step_wh, difference):
    (problem,) = list_energy_problems(tmp_path, count_wh(300, factor, step_wh))
    assert (problem.kind, problem.line) == ("energy-mismatch", 0)
    assert problem.found.startswith("total: over 299 s") and difference in problem.found


def test_counter_that_advances_by_the_same_at_each_reading_is_compared(tmp_path):
    (problem,) = list_energy_problems(tmp_path, [0.27 * i for i in range(60)])
    assert problem.kind == "energy-mismatch"


def test_counter_that_stands_still_for_a_kilowatt_hour_is_a_problem(tmp_path):
    assert list_energy_problems(tmp_path, [7.0] * 3000) == []
    (problem,) = list_energy_problems(tmp_path, [7.0] * 7200)
    assert problem.kind == "energy-mismatch" and "stands still" in problem.found


def test_counter_that_falls_is_a_problem_and_not_compared(tmp_path):
    (problem,) = list_energy_problems(tmp_path, [*count_wh(100), *count_wh(50, 2.0)])
    assert (problem.kind, problem.line) == ("energy-falls", 102)


def test_local_times_without_a_declared_zone_are_a_problem(tmp_path):
    rows = ["time,power", *(f"2025-01-01 00:00:0{i},10{i}" for i in range(3))]
    (problem,) = read_csv(tmp_path, MAP, *rows).problems.list_all()
    assert problem.kind == "naive-time"
    log = read_csv(tmp_path, MAP, *rows, time_zone="+02:00")
    assert summarise(log).start == "2024-12-31T22:00:00.000Z"
    zoned = MAP.replace('format = "iso"', 'format = "iso"\nzone = "UTC"')
    with pytest.raises(PowerLogError, match="both declare a zone"):
        read_csv(tmp_path, zoned, *rows, time_zone="UTC")


def test_doubled_hour_is_reported(tmp_path):
    zoned = MAP.replace('format = "iso"', 'format = "iso"\nzone = "America/New_York"')
    rows = [f"2025-11-02 {clock},1{i}" for i, clock in enumerate(("00:59:59", "01:00:00", "02:00"))]
    rows += ["2025-11-02 02:00:01,13", "2025-11-02 02:00:02,14"]
    log = read_csv(tmp_path, zoned, "time,power", *rows)
    first = log.problems.list_all()[0]
    assert (first.kind, first.line) == ("ambiguous-time", 3)


@pytest.mark.parametrize(
    ("row", "kind", "found"),
    [
        ("2025-01-01T00:00:05Z", "torn-line", "1 cells instead of 2"),
        ("2025-01-01T00:00:05Z,12,13", "torn-line", "3 cells instead of 2"),
        ("9999-01-01T00:00:00Z,12", "torn-line", "not between 1973 and 2191"),
        ("0001-01-01T00:00:00+10:00,12", "torn-line", "not between 1973 and 2191"),
        ("2025-01-01T00:0,12", "torn-line", "the time '2025-01-01T00:0'"),
        ("2025-01-01T00:00:05Z,12f", "torn-line", "'12f', which is no number"),
        ('2025-01-01T00:00:05Z,"12', "torn-line", "0 cells"),
        ("2025-01-01T00:00:05Z,", "no-value", "nan W"),
        ("2025-01-01T00:00:05Z,N/A", "no-value", "nan W"),
        ("2025-01-01T00:00:05Z,-5", "negative-power", "-5 W"),
    ],
)
def test_damaged_row_is_reported_and_skipped(tmp_path, row, kind, found):
    rows = [f"2025-01-01T00:00:0{i}Z,10{i}" for i in range(4)]
    log = read_csv(tmp_path, MAP, "time,power", *rows, row, "time,power")
    (problem,) = log.problems.list_all()
    assert (problem.kind, problem.line) == (kind, 6) and found in problem.found
    assert len(log) == 4


ROWS = ("5.5,1745514104", "6.5,1745514105", "5.5,1745514106")


def test_file_without_header_has_numbered_columns(tmp_path):
    csv_map = UNIX_MAP.format(unit="s").replace('"time"', "2").replace('"power"', "1")
    log = read_csv(tmp_path, "header = false\n" + csv_map, *ROWS)
    assert log.series[0].power_w.tolist() == [5.5, 6.5, 5.5]
    with pytest.raises(PowerLogError, match=r"time\.column: found 2, but line 1 of .* has 1"):
        read_csv(tmp_path, "header = false\n" + csv_map, "5.5")


def test_one_of_two_columns_of_one_name_is_named_by_its_number(tmp_path):
    rows = ("time,GPU Power [W],GPU Power [W]", "2025-01-01T00:00:00Z,5,7")
    rows += ("2025-01-01T00:00:01Z,6,8", "2025-01-01T00:00:02Z,5,9")
    for name in ("GPU Power", "GPU Power [W]"):
        with pytest.raises(PowerLogError, match=r"several columns .*; write the number .*: 2 or 3"):
            read_csv(tmp_path, MAP.replace('"power"', f'"{name}"'), *rows)
    second = read_csv(tmp_path, MAP.replace('"power"', "3"), *rows)
    assert second.series[0].power_w.tolist() == [7, 8, 9]
    both = read_csv(tmp_path, MAP.replace('column = "power"', "columns = [2, 3]"), *rows)
    assert both.series[0].power_w.tolist() == [12, 14, 14]


@pytest.mark.parametrize(
    ("csv_map", "message"),
    [
        ("interval =", "no valid TOML"),
        ("", "time: found nothing, expected a table"),
        (MAP.replace("mean-before", "mean"), "interval: found 'mean', expected one of 'instant'"),
        (MAP.replace('interval = "mean-before"', ""), "interval: found nothing"),
        (MAP + "colour = 1", r"power\.colour: found 1, expected one of the keys"),
        ("colour = 1" + MAP, "colour: found 1, expected one of the keys"),
        (MAP.replace('"W"', '"watt"'), r"power\.unit: found 'watt', expected one of 'W'"),
        (MAP.replace('"iso"', '"%d.%m.%Y"'), r"time\.format: found '%d.%m.%Y'"),
        (MAP.replace('"iso"', '"%I:%M:%S"'), r"time\.format: found '%I:%M:%S'"),
        (MAP.replace('"iso"', '"unix"'), r"time\.unit: found nothing, expected one of 's'"),
        (MAP.replace('"iso"', '"iso"\nunit = "s"'), r"time\.unit: found 's', expected no unit"),
        (MAP.replace('"iso"', '"iso"\nzone = "Mars"'), r"time\.zone: 'Mars' is no time zone"),
        (MAP.replace('"iso"', '"iso"\nzone = "../etc"'), r"time\.zone: '\.\./etc' is no time"),
        (MAP.replace('column = "time"', "column = 3"), r"time\.column: found 3, but line 1 of"),
        (MAP.replace('column = "time"', "column = 0"), r"time\.column: found 0, expected the name"),
        (MAP.replace('"power"', '"watts"'), r"power\.column: no column 'watts' in line 1"),
        ("power = 3\n" + MAP.partition("[power]")[0], r"power: found 3, expected a table"),
        ('delimiter = "ab"' + MAP, "delimiter: found 'ab', expected one of"),
        ('delimiter = ","\ndecimal = ","' + MAP, "decimal: found ',', expected another"),
        ("header = 1" + MAP, "header: found 1, expected true or false"),
    ],
)
def test_bad_map_is_refused_with_file_and_key(tmp_path, csv_map, message):
    with pytest.raises(PowerLogError, match=rf"map\.toml: {message}"):
        read_csv(tmp_path, csv_map, "time,power", "2025-01-01T00:00:00Z,5")


def test_byte_order_mark_is_no_part_of_the_first_column(tmp_path):
    rows = [f"2025-01-01T00:00:0{i}Z,5.{i}" for i in range(3)]
    log = read_csv(tmp_path, "\ufeff" + MAP, "\ufefftime,power", *rows)
    assert log.series[0].power_w.tolist() == [5.0, 5.1, 5.2]


def test_csv_without_map_is_refused_with_an_example(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("time,power\n2025-01-01T00:00:00Z,5\n")
    for name in ("csv", "auto"):
        with pytest.raises(PowerLogError, match=r"needs --map MAP\.toml(.|\n)*\[power\]"):
            read_log(LogRequest(path, format=name))


def test_map_of_another_format_is_refused(tmp_path):
    with pytest.raises(PowerLogError, match="--map declares a CSV log, but --format is ptd"):
        read_csv(tmp_path, MAP, "time,power", format="ptd")
