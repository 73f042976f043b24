"""Logs of several feeds: declared, they are kept apart and added; undeclared, they are refused."""

import re
from itertools import pairwise

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from support.harness.power_logs import START_S, UNIX, list_kinds, make_map, read_lines, write_log

from harness.cli import main
from harness.power_logs.read import read_logs
from harness.power_logs.summary import summarise
from rules.power_logs.grouping import RowSample, find_separating_column
from rules.power_logs.read import LogRequest
from rules.power_logs.records import PowerLogError

OUTLETS_MAP = make_map(UNIX, 'column = "power_w"\nunit = "W"')


def make_outlets(count: int = 60) -> list[str]:
    """Two outlets of a PDU, read one right after the other."""
    rows = ["timestamp,outlet,power_w"]
    for i in range(count):
        rows.append(f"{START_S + i / 5:.3f},A,{800 + i % 7 / 100}")
        rows.append(f"{START_S + i / 5 + 0.005:.3f},B,{800.3 + i % 7 / 100:.2f}")
    return rows


def make_boards(count: int = 60) -> list[str]:
    """Four boards, polled evenly within a second."""
    rows = ["index, timestamp, power.draw [W]"]
    for i in range(count):
        for board in range(4):
            second = f"{i // 60:02}:{i % 60:02}.{250 * board:03}"
            rows.append(f"{board}, 2026/03/04 10:{second}, {300 + 10 * board + i % 3}.0")
    return rows


BOARDS_MAP = make_map(
    'column = "timestamp"\nformat = "%Y/%m/%d %H:%M:%S.%f"\nzone = "UTC"',
    'column = "power.draw [W]"',
)


def make_hosts(count: int = 30) -> list[str]:
    """The export of a database: one host after the other."""
    return ["_time,_value,host"] + [
        f"2026-03-04T10:00:{i:02}Z,{level + i % 4},n{number}"
        for number, level in ((1, 1600), (2, 1700))
        for i in range(count)
    ]


HOSTS_MAP = make_map('column = "_time"\nformat = "iso"', 'column = "_value"\nunit = "W"')


@pytest.mark.parametrize(
    ("lines", "csv_map", "column", "values"),
    [
        (make_outlets(), OUTLETS_MAP, "outlet", "A, B"),
        (make_boards(), BOARDS_MAP, "index", "0, 1, 2, 3"),
        (make_hosts(), HOSTS_MAP, "host", "n1, n2"),
        # A reading that is missing shifts the cycle and does not hide it.
        (make_outlets()[:9] + make_outlets()[10:], OUTLETS_MAP, "outlet", "A, B"),
    ],
    ids=["outlets", "boards", "hosts", "a-row-is-missing"],
)
def test_rows_of_several_feeds_are_refused_with_the_column_that_tells_them_apart(
    tmp_path, lines, csv_map, column, values
):
    with pytest.raises(PowerLogError) as error:
        read_lines(tmp_path, lines, csv_map)
    assert f"the column '{column}' has the values {values}" in str(error.value)
    assert f'[key] column = "{column}"' in str(error.value)
    log = read_lines(tmp_path, lines, f'{csv_map}[key]\ncolumn = "{column}"')
    assert log.feeds == values.split(", ") and not log.left_out.readings


def test_powers_of_the_feeds_of_a_key_add_up(tmp_path):
    summary = summarise(
        read_lines(tmp_path, make_outlets(), OUTLETS_MAP + '[key]\ncolumn = "outlet"')
    )
    assert summary.total.mean_w == pytest.approx(1600.3 + 2 * 0.0295, abs=0.01)
    assert summary.total.energy_j == pytest.approx(1600.36 * summary.total.duration_s, rel=1e-4)
    assert summary.feeds["A"].mean_w == pytest.approx(800.0295, abs=0.01)


def test_values_of_a_key_choose_feeds(tmp_path):
    key = '[key]\ncolumn = "host"\nvalues = ["n2"]'
    log = read_lines(tmp_path, make_hosts(), HOSTS_MAP + key)
    assert log.feeds == ["n2"] and summarise(log).total.mean_w == pytest.approx(1701.43, abs=0.01)
    with pytest.raises(PowerLogError, match=r"key\.values: no row of 'n7'; the rows are of n1, n2"):
        read_lines(tmp_path, make_hosts(), HOSTS_MAP + key.replace("n2", "n7"))


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("abc"))))
def test_column_separates_feeds_where_the_times_of_each_value_rise(rows):
    by_value = {value: [time for time, other in rows if other == value] for _, value in rows}
    rises = [a < b for times in by_value.values() for a, b in pairwise(times)]
    separates = len(by_value) > 1 and rises and sum(rises) >= 0.95 * len(rises)
    sample = RowSample(times_ns=[time for time, _ in rows], cells=[[value] for _, value in rows])
    found = find_separating_column(sample, [0])
    assert found == ((0, list(by_value)) if separates else None)


def test_rows_that_come_in_groups_need_a_declared_feed(tmp_path):
    rows = [",".join(row.split(",")[::2]) for row in make_outlets()]
    with pytest.raises(PowerLogError, match=r"the rows come in groups of 2(.|\n)*declare feed = "):
        read_lines(tmp_path, rows, OUTLETS_MAP)
    assert read_lines(tmp_path, rows, f'feed = "all"\n{OUTLETS_MAP}').feeds == ["all"]


def test_second_key_is_found_among_the_rows_of_the_first(tmp_path):
    rows = ["timestamp,host,gpu,power_w"]
    rows += [
        f"{START_S + i},n{host},{gpu},{300 + i % 5}"
        for i in range(20)
        for host in range(2)
        for gpu in range(2)
    ]
    with pytest.raises(PowerLogError, match="the column 'host' has the values n0, n1"):
        read_lines(tmp_path, rows, OUTLETS_MAP + '[key]\ncolumn = "gpu"')
    log = read_lines(tmp_path, rows, OUTLETS_MAP + '[key]\ncolumn = ["host", "gpu"]')
    assert log.feeds == ["n0/0", "n0/1", "n1/0", "n1/1"]


@pytest.mark.parametrize(
    ("name", "values"),
    [("second", range(60)), ("fan", [1800, 1850]), ("temp", [48, 49, 50]), ("state", ["run"])],
)
def test_measured_columns_that_cycle_are_no_keys(tmp_path, name, values):
    rows = [f"timestamp,{name},power_w"]
    rows += [f"{START_S + i},{values[i % len(values)]},{300 + i % 5}" for i in range(240)]
    assert len(read_lines(tmp_path, rows, OUTLETS_MAP)) == 240


@pytest.mark.parametrize("names", ["AB", "01"])
def test_columns_without_header_are_named_by_their_number(tmp_path, names):
    rows = [row.replace(",A,", f",{names[0]},").replace(",B,", f",{names[1]},") for row in OUTLETS]
    csv_map = f"header = false\n{OUTLETS_MAP}".replace('"timestamp"', "1").replace('"power_w"', "3")
    csv_map = csv_map.replace('"s"', '"ms"')
    with pytest.raises(PowerLogError, match=r"the column 2 has the .*\[key\] column = 2"):
        read_lines(tmp_path, rows, csv_map)
    assert len(read_lines(tmp_path, rows, f"{csv_map}[key]\ncolumn = 2").feeds) == 2


OUTLETS = [row.replace(".", "") for row in make_outlets()[1:]]
"""Without points, so that times, outlets and powers look alike."""
WIDE = ["timestamp,gpu:0,gpu:1,gpu:2"] + [
    f"{START_S + i},{300 + i % 3},{310 + i % 3},{320 + i % 3}" for i in range(60)
]


def test_columns_of_the_power_are_feeds(tmp_path):
    csv_map = make_map(UNIX, 'columns = ["gpu:0", "gpu:1", "gpu:2"]\nunit = "W"')
    summary = summarise(read_lines(tmp_path, WIDE, csv_map))
    assert list(summary.feeds) == ["gpu:0", "gpu:1", "gpu:2"]
    assert summary.total.mean_w == 933 and summary.total.energy_j == pytest.approx(933 * 59)


def test_columns_like_that_of_the_power_are_reported(tmp_path):
    log = read_lines(tmp_path, WIDE, make_map(UNIX, 'column = "gpu:0"\nunit = "W"'))
    (problem,) = log.problems.list_all()
    assert problem.kind == "unused-columns" and "'gpu:1', 'gpu:2'" in problem.found


def test_feeds_that_overlap_are_not_added(tmp_path):
    csv_map = make_map(UNIX, 'columns = ["gpu:0", "gpu:1", "gpu:2"]\nunit = "W"', "add = false")
    log = read_lines(tmp_path, WIDE, csv_map)
    assert summarise(log).total is None
    path = write_log(tmp_path, WIDE)
    result = CliRunner().invoke(
        main, ["power-log", str(path), "--map", str(tmp_path / "map.toml"), "--json"]
    )
    assert result.exit_code == 0 and '"mean_w": null' in result.output


def test_several_logs_are_feeds_of_one_system(tmp_path):
    (tmp_path / "map.toml").write_text(OUTLETS_MAP)
    requests = []
    for name, power_w, offset_s in (("left", 800, 0), ("right", 500, 3)):
        rows = ["timestamp,power_w", *(f"{START_S + offset_s + i},{power_w}" for i in range(20))]
        path = write_log(tmp_path, rows, f"{name}.csv")
        requests.append(LogRequest(path, map_path=tmp_path / "map.toml"))
    log = read_logs(requests)
    total = summarise(log).total
    assert log.feeds == ["left.csv total", "right.csv total"]
    # Over the time that both logs cover.
    assert (total.duration_s, total.energy_j) == (16.0, 16 * 1300.0)


def test_several_logs_of_other_kinds_of_times_are_refused(tmp_path):
    (tmp_path / "map.toml").write_text(OUTLETS_MAP)
    paths = [
        write_log(tmp_path, ["timestamp,power_w", *(f"{start + i},5" for i in range(5))], name)
        for name, start in (("a.csv", START_S), ("b.csv", 0))
    ]
    with pytest.raises(PowerLogError, match=r"b\.csv: elapsed is True, but .*a\.csv is False"):
        read_logs([LogRequest(path, map_path=tmp_path / "map.toml") for path in paths])


def make_analyzers(second: int, first_w: float, second_w: float, total_w: float) -> str:
    def part(fraction: int, power_w: float) -> str:
        amps = power_w / 230 / 0.95
        return (
            f"Time,03-04-2026 10:00:{second:02}.{fraction},Watts,{power_w:.6f},Volts,230.000000,"
            f"Amps,{amps:.6f},PF,0.950000,Mark,run_testing"
        )

    head = part(737, total_w).split(",Volts")[0]
    return (
        f"{head},Volts,-1.000000,Amps,-1.000000,PF,-1.000000,Mark,run_testing,"
        f"Analyzer1,{part(737, first_w)},Analyzer2,{part(480, second_w)}"
    )


def test_analysers_in_one_line_are_feeds(tmp_path):
    lines = [make_analyzers(i, 500 + i, 480 + i % 3, 980 + i + i % 3) for i in range(60)]
    log = read_lines(tmp_path, lines)
    assert log.feeds == ["Analyzer1", "Analyzer2"] and list_kinds(log) == []
    assert summarise(log).total.mean_w == pytest.approx(1010.5)
    first, channels = "(Analyzer2,Time,[^,]*),.*", r"\1,Watts,300,Ch1,Watts,100,Ch2,Watts,200"
    lines = [re.sub(first, channels, make_analyzers(i, 500, 300, 800)) for i in range(9)]
    log = read_lines(tmp_path, lines)
    assert log.feeds == ["Analyzer1", "Analyzer2 Ch1", "Analyzer2 Ch2"] and len(log) == 18


def test_line_whose_total_is_not_that_of_its_analysers_is_torn(tmp_path):
    lines = [make_analyzers(i, 500 + i, 480, 980 + i) for i in range(9)]
    lines.append(make_analyzers(9, 500, 480, 700))
    log = read_lines(tmp_path, lines)
    assert ("torn-line", 10) in list_kinds(log) and len(log) == 18


def make_training(start_s: int, count: int = 30, host: str = "") -> list[str]:
    metadata = f'{{"host": "{host}"}}' if host else '""'
    return [
        f':::MLLOG {{"time_ms": {(start_s + i) * 1000}, "key": "power_reading", '
        f'"value": {2000 + i % 5}, "metadata": {metadata}}}'
        for i in range(count)
    ]


def test_two_nodes_without_a_host_in_one_file_are_refused(tmp_path):
    lines = make_training(START_S) + make_training(START_S)
    with pytest.raises(PowerLogError, match=r"of 60 readings .* the times begin again in line 31"):
        read_lines(tmp_path, lines)


def test_phase_behind_another_with_times_that_go_on_is_read(tmp_path):
    log = read_lines(tmp_path, make_training(START_S) + make_training(START_S + 60))
    assert len(log) == 60 and ("gap", 31) in list_kinds(log)


@pytest.mark.parametrize("share", [0.09, 0.2])
def test_log_of_which_more_than_a_tenth_is_left_out_is_refused(tmp_path, share):
    count = 200
    rows = [f"{START_S + i},{300 + i % 5}" for i in range(count)]
    for i in range(round(share * count)):
        rows[5 * i] = f"{START_S + 5 * i},x{i}"
    lines = ["timestamp,power_w", *rows]
    if share < 0.1:
        assert len(read_lines(tmp_path, lines, OUTLETS_MAP)) == count - round(share * count)
    else:
        with pytest.raises(PowerLogError, match=r"40 of 200 readings would be left out; the first"):
            read_lines(tmp_path, lines, OUTLETS_MAP)
