"""Tables as loggers write them: units, decimal commas, preambles, split and relative times."""

import pytest
from click.testing import CliRunner
from support.harness.power_logs import START_S, UNIX, list_kinds, make_map, read_lines, write_log

from harness.cli import main
from harness.power_logs.summary import summarise
from rules.power_logs.records import PowerLogError

ISO = 'column = "time"\nformat = "iso"'


def rows_with(cells: list[str]) -> list[str]:
    return ["timestamp,power_w"] + [f"{START_S + i},{cell}" for i, cell in enumerate(cells)]


@pytest.mark.parametrize(
    ("cell", "power_w"),
    [
        ("300.13 W", 300.13),
        ("300130 mW", 300.13),
        ("0.30013 kW", 300.13),
        ("300.13W", 300.13),
        ("300.13 Watts", 300.13),
        ("300130000 µW", 300.13),
        ("3.0013e2", 300.13),
        ('"1,300.13"', 1300.13),
    ],
)
def test_unit_of_a_cell_goes_before_that_of_the_map(tmp_path, cell, power_w):
    log = read_lines(
        tmp_path, rows_with([cell] * 3), make_map(UNIX, 'column = "power_w"\nunit = "W"')
    )
    assert log.series[0].power_w.tolist() == pytest.approx([power_w] * 3)


@pytest.mark.parametrize("cell", ["[N/A]", "N/A", "[Not Supported]", "-", "", "nan", "ERR!"])
def test_mark_of_no_value_is_no_reading(tmp_path, cell):
    cells = ["300", "301", cell, "302", "303"]
    log = read_lines(tmp_path, rows_with(cells), make_map(UNIX, 'column = "power_w"\nunit = "W"'))
    assert list_kinds(log) == [("no-value", 4)] and len(log) == 4


@pytest.mark.parametrize(("unit", "factor"), [("uW", 10**6), ("µW", 10**6), ("mW", 1000)])
def test_units_of_the_kernel_are_known(tmp_path, unit, factor):
    csv_map = make_map(UNIX, f'column = "power_w"\nunit = "{unit}"')
    cells = [str(power_w * factor) for power_w in (300, 301, 302)]
    assert summarise(read_lines(tmp_path, rows_with(cells), csv_map)).total.mean_w == 301


@pytest.mark.parametrize("unit", ["uJ", "µJ"])
def test_counter_of_energy_alone_gives_the_power_between_its_readings(tmp_path, unit):
    rows = ["timestamp,energy"] + [f"{START_S + 2 * i},{600_000_000 * i}" for i in range(5)]
    csv_map = f'interval = "instant"\n[time]\n{UNIX}\n[energy]\ncolumn = "energy"\nunit = "{unit}"'
    log = read_lines(tmp_path, rows, csv_map)
    assert log.series[0].power_w.tolist() == [300.0] * 4
    assert summarise(log).total.energy_j == 1800


def test_unit_of_the_header_is_that_of_a_map_without_unit(tmp_path):
    rows = ["timestamp,Power (kW)"] + [f"{START_S + i},0.3" for i in range(3)]
    log = read_lines(tmp_path, rows, make_map(UNIX, 'column = "Power (kW)"'))
    assert log.series[0].power_w.tolist() == [300.0] * 3
    with pytest.raises(PowerLogError, match=r"power\.unit: the header .* says 'Power \(kW\)'"):
        read_lines(tmp_path, rows, make_map(UNIX, 'column = "Power"\nunit = "W"'))
    with pytest.raises(PowerLogError, match=r"without a unit; declare power\.unit"):
        read_lines(tmp_path, rows_with(["5"] * 3), make_map(UNIX, 'column = "power_w"'))


def test_decimal_commas_are_read_in_every_column(tmp_path):
    rows = ["Zeit;P [W];E"]
    rows += [f"{i},5;{'1.' if i else ''}300,25;{i},5" for i in range(4)]
    csv_map = 'delimiter = ";"\ndecimal = ","\n' + make_map(
        'column = "Zeit"\nformat = "unix"\nunit = "s"', 'column = "P"'
    )
    log = read_lines(tmp_path, rows, csv_map + '[energy]\ncolumn = "E"\nunit = "kJ"')
    assert log.series[0].power_w.tolist() == [300.25, 1300.25, 1300.25, 1300.25]
    assert log.series[0].times_ns.tolist() == [500_000_000 + i * 10**9 for i in range(4)]
    assert log.series[0].columns["total", "energy_j"].tolist() == [500, 1500, 2500, 3500]


def test_log_with_other_decimals_than_the_map_is_refused_with_a_hint(tmp_path):
    rows = ["timestamp;power_w"] + [f"{START_S + i};300,25" for i in range(4)]
    csv_map = 'delimiter = ";"\n' + make_map(UNIX, 'column = "power_w"\nunit = "W"')
    with pytest.raises(PowerLogError, match=r"'300,25', which is no number.*decimal"):
        read_lines(tmp_path, rows, csv_map)


PREAMBLE = ['"Model","WT333E"', '"Version","F1.04"', "", '"No.","Date","Time","P-E1"']
PREAMBLE += [f'"{i}","2026/03/04","10:00:{i:02}","30{i % 5}.0"' for i in range(30)]


def test_header_behind_other_lines_and_time_in_two_columns(tmp_path):
    time = 'column = ["Date", "Time"]\nformat = "%Y/%m/%d %H:%M:%S"\nzone = "UTC"'
    log = read_lines(tmp_path, PREAMBLE, make_map(time, 'column = "P-E1"\nunit = "W"'))
    assert len(log) == 30 and list_kinds(log) == []
    assert summarise(log).start == "2026-03-04T10:00:00.000Z"


def test_time_of_which_the_map_names_a_part_is_refused_with_what_to_write(tmp_path):
    time = 'column = "Date"\nformat = "%Y/%m/%d %H:%M:%S"\nzone = "UTC"'
    with pytest.raises(PowerLogError, match=r'two columns are column = \["Date", "Time"\]'):
        read_lines(tmp_path, PREAMBLE, make_map(time, 'column = "P-E1"\nunit = "W"'))


def test_lines_before_rows_without_header_are_skipped(tmp_path):
    rows = ["logger 3", "started", *(f"{START_S + i},30{i}" for i in range(4))]
    csv_map = "header = false\nskip = 2\n" + make_map(
        UNIX.replace('"timestamp"', "1"), 'column = 2\nunit = "W"'
    )
    assert len(read_lines(tmp_path, rows, csv_map)) == 4


DMON = ["#Date       Time        gpu    pwr  gtemp", "#YYYYMMDD   HH:MM:SS    Idx      W      C"]
DMON += [f" 20260304   10:00:{i:02}      0    {70 + i % 3}     48 " for i in range(20)]
DMON += DMON[:2] + [f" 20260304   10:00:{i:02}      0    {70 + i % 3}     48 " for i in (20, 21)]
ALIGNED = 'delimiter = " "\ncomment = "#"\nheader = false\n'


def test_runs_of_blanks_are_one_delimiter(tmp_path):
    time = 'column = [1, 2]\nformat = "%Y%m%d %H:%M:%S"\nzone = "UTC"'
    csv_map = ALIGNED + make_map(time, 'column = 4\nunit = "W"')
    log = read_lines(tmp_path, DMON, csv_map)
    assert len(log) == 22 and list_kinds(log) == []
    named = csv_map.replace("header = false\n", "").replace("[1, 2]", '["Date", "Time"]')
    assert len(read_lines(tmp_path, DMON, named.replace("column = 4", 'column = "pwr"'))) == 22


def test_units_below_the_header_are_no_reading(tmp_path):
    rows = ["time  power", "s     mW", *(f"{START_S + i}  {300_000 + i}" for i in range(3))]
    csv_map = 'delimiter = " "\n' + make_map(UNIX.replace("timestamp", "time"), 'column = "power"')
    log = read_lines(tmp_path, rows, csv_map)
    assert log.series[0].power_w[0] == 300 and list_kinds(log) == []


ELAPSED = ["elapsed_s,power_w", *(f"{i}.0,{300 + i % 5}" for i in range(60))]
ELAPSED_MAP = make_map(UNIX.replace("timestamp", "elapsed_s"), 'column = "power_w"\nunit = "W"')


def test_times_since_a_start_give_power_and_energy(tmp_path):
    summary = summarise(read_lines(tmp_path, ELAPSED, ELAPSED_MAP))
    assert (summary.start, summary.end) == ("0.000 s", "59.000 s")
    assert summary.total.mean_w == 302 and summary.total.energy_j == 17_818
    assert summary.problems == ()


def test_instants_of_elapsed_times_need_a_stated_start(tmp_path):
    with pytest.raises(PowerLogError, match=r"count from a start .*state .* with --start"):
        read_lines(tmp_path, ELAPSED, ELAPSED_MAP, begin="2026-03-04T10:00:10Z")
    log = read_lines(
        tmp_path, ELAPSED, ELAPSED_MAP, begin="2026-03-04T10:00:10Z", start="2026-03-04T10:00:00Z"
    )
    assert len(log) == 50 and summarise(log).start == "2026-03-04T10:00:10.000Z"
    with pytest.raises(PowerLogError, match="do not count from a start; leave out the option"):
        read_lines(
            tmp_path,
            rows_with(["300"] * 3),
            make_map(UNIX, 'column = "power_w"\nunit = "W"'),
            start="2026-03-04T10:00:00Z",
        )


def test_times_of_day_without_a_date_go_on_behind_midnight(tmp_path):
    rows = ["time,power"] + [f"{clock},300" for clock in ("23:59:58", "23:59:59", "00:00:00")]
    csv_map = make_map('column = "time"\nformat = "%H:%M:%S"', 'column = "power"\nunit = "W"')
    log = read_lines(tmp_path, rows, csv_map)
    assert summarise(log).total.energy_j == 600 and log.elapsed
    log = read_lines(tmp_path, rows, csv_map, start="2026-03-04T00:00:00+01:00")
    assert summarise(log).end == "2026-03-04T23:00:00.000Z"


def test_header_in_windows_1252_is_read(tmp_path):
    (tmp_path / "map.toml").write_text(
        'delimiter = ";"\n' + make_map(ISO, 'column = "Leistung Ø [W]"\nunit = "W"'), "utf-8"
    )
    lines = ["time;Leistung Ø [W]", *(f"2026-03-04T10:00:{i:02}Z;{300 + i}" for i in range(5))]
    path = tmp_path / "log.csv"
    path.write_bytes("\n".join(lines).encode("cp1252"))
    result = CliRunner().invoke(main, ["power-log", str(path), "--map", str(tmp_path / "map.toml")])
    assert result.exit_code == 0 and "mean power      302.000000 W" in result.output


def test_zone_of_a_log_with_instants_is_refused_and_not_ignored(tmp_path):
    csv_map = make_map(UNIX, 'column = "power_w"\nunit = "W"')
    with pytest.raises(PowerLogError, match=r"--time-zone Europe/Berlin: .*--clock-offset"):
        read_lines(tmp_path, rows_with(["300"] * 3), csv_map, time_zone="Europe/Berlin")
    reading = '{"time_ms": 17726364%05d, "key": "power_reading", "value": 3400, "metadata": ""}'
    lines = [f":::MLLOG {reading % (1000 * i)}" for i in range(30)]
    with pytest.raises(PowerLogError, match=r"--time-zone America/Chicago: .*--clock-offset"):
        read_lines(tmp_path, lines, time_zone="America/Chicago")


def test_text_names_both_means_and_what_the_energy_is(tmp_path):
    path = write_log(tmp_path, ELAPSED)
    (tmp_path / "map.toml").write_text(ELAPSED_MAP)
    arguments = ["power-log", str(path), "--map", str(tmp_path / "map.toml"), "--rating-w", "400"]
    output = CliRunner().invoke(main, arguments).output
    assert "reading         the power at its time; energy is the trapezoid" in output
    assert "mean power      302.000000 W, the mean of the readings" in output
    assert "mean over time  302.000000 W, the energy over 59.000 s" in output
    assert "rating          400 W" in output and "95 %, 99 %" in output
