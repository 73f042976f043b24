"""Variants of PTDaemon logs, and damage in them."""

from pathlib import Path

import pytest

from harness.power_logs.read import read_log
from rules.power_logs.read import LogRequest
from rules.power_logs.records import PowerLog, PowerLogError


def read_lines(tmp_path: Path, *lines: str, **options: str) -> PowerLog:
    path = tmp_path / "spl.txt"
    path.write_text("\n".join(lines) + "\n")
    return read_log(LogRequest(path, **options))


def reading(second: int, rest: str = "Watts,100.0,Volts,200.0,Amps,0.5,PF,1.0,Mark,m") -> str:
    return f"Time,12-23-2020 10:21:{second:02}.500,{rest}"


def list_problems(log: PowerLog) -> list[tuple[str, int]]:
    return [
        (problem.kind, problem.line)
        for problem in log.problems.list_all()
        if problem.kind != "naive-time"
    ]


GOOD = [reading(second, f"Watts,{100 + second}.0,Mark,m") for second in range(5)]


@pytest.mark.parametrize(
    "rest",
    [
        "Watts,100.000000,Volts,200.0,Amps,0.5,PF,1.0",
        "Volts,200.0,Amps,0.5,Watts,100.0,PF,1.0,Mark,m",
        "Watts,100.0,Volts,200.0,Amps,0.5,PF,-1.0,Mark,m",
        "Watts,100.0,Volts,200.0,Amps,1.0,PF,-0.5,Mark,a capacitive load",
        "Watts,100.0,Volts,200.0,VRange,300,Amps,0.5,ARange,5,PF,1.0,Freq,50.0,Mark,m,n",
        "Watts,100.0,Volts,-1.0,Amps,-1.0,PF,-1.0,Mark,m",
        "Watts,100.0",
        "watts, 100.0, volts, 200.0, amps, 0.5, pf, 1.0",
    ],
)
def test_order_and_presence_of_fields_may_vary(tmp_path, rest):
    log = read_lines(tmp_path, *(reading(second, rest) for second in range(4)))
    assert log.series[0].power_w.tolist() == [100.0] * 4
    assert list_problems(log) == [("repeats", 0)]


@pytest.mark.parametrize(
    ("rest", "found"),
    [
        ("Watts,3,Ch1,Watts,1,Ch2,Volts,230", "a channel without Watts: Ch2"),
        ("Watts,3,Ch1,Watts,1,Ch1,Watts,2", "several channels Ch1"),
    ],
)
def test_channels_that_are_not_whole_are_torn(tmp_path, rest, found):
    log = read_lines(tmp_path, *GOOD, *(reading(9, rest) for _ in range(2)))
    assert list_problems(log) == [("torn-line", 6), ("torn-line", 7)]
    assert found in log.problems.list_all()[0].found


def test_huge_volts_give_no_warning_of_the_arithmetic(tmp_path, recwarn):
    lines = [reading(s, f"Watts,{100 + s},Volts,1e308,Amps,1e308,PF,1.0") for s in range(3)]
    assert len(read_lines(tmp_path, *lines)) == 3
    assert not recwarn.list


def test_channels_without_labels_are_numbered(tmp_path):
    rest = "Watts,300,Volts,200,Amps,0.75,PF,1,Watts,100,Volts,200,Amps,0.5,PF,1,Watts,200"
    log = read_lines(tmp_path, *(reading(second, rest) for second in range(3)))
    assert log.feeds == ["Ch1", "Ch2"] and log.series[0].power_w.tolist() == [300] * 3


def test_time_may_have_other_separators_and_no_fraction(tmp_path):
    log = read_lines(
        tmp_path,
        "Time,12/23/2020 10:21:01,Watts,1.5",
        "Time,2020-12-23 10:21:02,Watts,2.5",
        "Time,2020-12-23T10:21:03.25,Watts,3.5",
    )
    assert ((log.series[0].times_ns - log.series[0].times_ns[0]) / 1e9).tolist() == [0, 1, 2.25]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("Time,12-23-2020 10:21:04.500,Watts,10", "values for total power_w, where most"),
        ("Time,12-23-2020 10:21:04.500,Watts,10x,Volts,1", "Watts '10x', which is no number"),
        ("Time,12-23-2020 10:21:04.500,Watts", "Watts '', which is no number"),
        ("Time,23-12-2020 10:21:04.500,Watts,1", "which does not exist"),
        ("Time,12-23-0001 10:21:04.500,Watts,1.0", "not between 1973 and 2191"),
        ("Time,12-23-9999 10:21:04.500,Watts,1.0", "not between 1973 and 2191"),
        ("Time,12-23-2020 10:2", "not like MM-DD-YYYY"),
        ("Time,", "not like MM-DD-YYYY"),
        ("100.0,Volts,200.0,Amps,0.5,PF,1.0,Mark,m", "values without the time of a reading"),
        ("Time,12-23-2020 10:21:04.500,Watts,300,Watts,100,Watts,2", "300.0 W in total, but 102.0"),
    ],
)
def test_torn_line_is_reported_and_skipped(tmp_path, line, found):
    log = read_lines(tmp_path, reading(1), reading(2), reading(3), line, reading(5))
    (problem,) = [p for p in log.problems.list_all() if p.kind == "torn-line"]
    assert problem.line == 4 and found in problem.found
    assert len(log) == 4


@pytest.mark.parametrize("place", range(5))
def test_layout_of_most_lines_counts_wherever_another_stands(tmp_path, place):
    lines = [reading(second) for second in range(5)]
    lines[place] = reading(place, "Watts,10.0,Mark,m")
    log = read_lines(tmp_path, *lines)
    assert list_problems(log) == [("torn-line", place + 1), ("repeats", 0)] and len(log) == 4


def test_reading_after_a_torn_one_on_the_same_line_is_kept(tmp_path):
    log = read_lines(tmp_path, reading(1), reading(2)[:40] + reading(3), reading(4))
    assert list_problems(log)[0] == ("torn-line", 2) and len(log) == 3


def test_messages_of_the_daemon_are_no_problem(tmp_path):
    message = "12-23-2020 10:21:03.222: Go with mark 'a'"
    log = read_lines(tmp_path, "PTDaemon version 1.9.2", message, *GOOD, "WARNING: range", "")
    assert len(log) == 5 and not list_problems(log)


def test_reading_without_watts_is_never_computed_from_volts_and_amperes(tmp_path):
    no_watts = reading(9, "Volts,200.0,Amps,0.5,PF,1.0")
    assert list_problems(read_lines(tmp_path, *GOOD, no_watts)) == [("no-power", 6)]
    with pytest.raises(PowerLogError, match=r"no line is a whole reading .*without Watts"):
        read_lines(tmp_path, no_watts)


@pytest.mark.parametrize(
    ("watts", "kind"),
    [
        ("-1.000000", "sentinel"),
        ("9.9E37", "sentinel"),
        ("9.91E37", "sentinel"),
        ("65535", "sentinel"),
        ("-20.5", "negative-power"),
        ("1200000", "impossible-power"),
        ("nan", "no-value"),
        ("-1.#IND00", "no-value"),
        ("inf", "no-value"),
    ],
)
def test_power_that_is_no_reading_is_reported_and_skipped(tmp_path, watts, kind):
    log = read_lines(tmp_path, *GOOD, reading(5, f"Watts,{watts},Mark,m"))
    assert list_problems(log) == [(kind, 6)] and len(log) == 5


def test_power_that_contradicts_volts_and_amperes_is_reported(tmp_path):
    lines = [
        reading(second, f"Watts,{100 + second},Volts,200,Amps,{(100 + second) / 200},PF,1")
        for second in range(8)
    ]
    lines[3] = lines[3].replace("Watts,103", "Watts,105")
    log = read_lines(tmp_path, *lines)
    assert list_problems(log) == [("product-mismatch", 4)] and len(log) == 8


def test_duplicates_gaps_and_steps_back_are_reported(tmp_path):
    lines = [reading(s, f"Watts,{100 + s}") for s in (1, 2, 3, 3, 4, 5, 2, 6, 7, 17, 18)]
    lines[6] = lines[6].replace(".500", ".750")
    log = read_lines(tmp_path, *lines)
    assert list_problems(log) == [("duplicate", 4), ("time-out-of-order", 7), ("gap", 10)]
    assert log.series[0].times_ns.size == 9


def test_wrong_stamp_in_the_future_does_not_remove_what_follows(tmp_path):
    lines = [reading(s, f"Watts,{100 + s}") for s in range(8)]
    lines[3] = lines[3].replace("12-23-2020", "12-23-2021")
    log = read_lines(tmp_path, *lines)
    assert list_problems(log) == [("time-out-of-order", 4)] and len(log) == 7


def test_doubled_and_skipped_hour_of_daylight_saving_are_found(tmp_path):
    def at(day: str, clock: str) -> str:
        return f"Time,{day}-2025 {clock},Watts,100.5"

    autumn = [
        at("10-26", "01:59:59"),
        at("10-26", "02:30:00"),
        at("10-26", "03:00:00"),
        at("10-26", "03:00:01"),
    ]
    log = read_lines(tmp_path, *autumn, time_zone="Europe/Berlin")
    assert list_problems(log)[0] == ("ambiguous-time", 2) and len(log) == 3
    # One hour and a second of local time are an hour longer, because the clocks were set back.
    assert log.series[0].times_ns[1] - log.series[0].times_ns[0] == 7201 * 10**9
    spring = [
        at("03-30", "01:59:59"),
        at("03-30", "02:30:00"),
        at("03-30", "03:00:00"),
        at("03-30", "03:00:01"),
    ]
    log = read_lines(tmp_path, *spring, time_zone="Europe/Berlin")
    assert list_problems(log)[0] == ("missing-time", 2)
    assert log.series[0].times_ns[1] - log.series[0].times_ns[0] == 10**9
    assert len(read_lines(tmp_path, *autumn, time_zone="UTC")) == 4


def test_unknown_time_zone_is_refused(tmp_path):
    with pytest.raises(PowerLogError, match=r"--time-zone: 'Berlin' is no time zone"):
        read_lines(tmp_path, *GOOD, time_zone="Berlin")


def test_notices_of_the_daemon_are_no_problem_and_its_errors_are(tmp_path):
    log = read_lines(
        tmp_path,
        "Time,12-23-2020 10:20:00.000,NOTICE,Analyzer identity response of 32 bytes: WT310,F1.03",
        *GOOD,
        "Time,12-23-2020 10:21:05.071,ERROR,Bad volts reading nan from WT310",
        "Buffer was 1.000E+00;1;300.0E+00;1",
        "12-23-2020 10:21:06.000: WARNING: 1 sample is uncertain",
        reading(6, "Watts,107.0,Mark,m"),
    )
    assert list_problems(log) == [("meter-message", 7), ("meter-message", 9)] and len(log) == 6
    assert "Bad volts reading" in log.problems.list_all()[0].found


def test_reading_without_the_word_time_is_read(tmp_path):
    lines = [line.removeprefix("Time,") for line in GOOD]
    log = read_lines(tmp_path, *lines, f"Response to client sent: {reading(9)[5:]}")
    assert len(log) == 5 and list_problems(log) == [("torn-line", 6)]
    lines.append("Response to client sent: " + reading(9, "Watts,110.0,Mark,m")[5:])
    assert len(read_lines(tmp_path, *lines)) == 6


def test_total_without_volts_is_the_sum_of_its_channels(tmp_path):
    channels = "Ch1,Watts,91.06,Volts,120.95,Amps,0.8019,PF,0.9389,Ch2,Watts,90.97,Volts,120.83"
    rest = f"Watts,182.03,Volts,-1.0,Amps,-1.0,PF,-1.0,Mark,notset,{channels},Amps,0.802,PF,0.9388"
    whole = [reading(second, rest) for second in range(3)]
    log = read_lines(tmp_path, *whole)
    assert log.series[0].power_w.tolist() == [pytest.approx(182.03)] * 3
    assert list_problems(log) == [("repeats", 0)]
    broken = rest.replace("Ch1,Watts,", "Ch1,Watts1,")
    log = read_lines(tmp_path, *whole, reading(3, broken))
    assert ("torn-line", 4) in list_problems(log) and len(log) == 3


def test_log_whose_readings_all_are_marks_is_refused(tmp_path):
    with pytest.raises(PowerLogError, match=r"spl.txt: no line is a whole reading .*line 1: total"):
        read_lines(tmp_path, *(reading(second, "Watts,-1,Mark,m") for second in range(4)))


def test_log_in_another_unit_is_refused_and_not_averaged_over_what_is_left(tmp_path):
    lines = [
        reading(second, f"Watts,{powers}") for second, powers in enumerate((1.5e6, 1.6e6, 9e5))
    ]
    with pytest.raises(PowerLogError, match="above a megawatt, such as line 1; declare the unit"):
        read_lines(tmp_path, *lines)
