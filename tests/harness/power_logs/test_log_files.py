"""What a log file may be: compressed, with any line ends, damaged, huge, or no log at all."""

import gzip
import itertools
import os
import random
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.cli import main
from harness.power_logs import text
from harness.power_logs.read import read_log
from rules.power_logs.read import LogRequest
from rules.power_logs.records import PowerLogError

DATA = Path(__file__).parent / "data"
TORN = (DATA / "ptd_torn.txt").read_bytes()
CRLF = TORN.replace(b"\n", b"\r\n")


def read_bytes(tmp_path: Path, content: bytes, name: str = "log.txt"):
    path = tmp_path / name
    path.write_bytes(content)
    return read_log(LogRequest(path))


@pytest.mark.parametrize(
    "content",
    [
        TORN,
        CRLF,
        TORN.replace(b"\n", b"\r"),
        b"\xef\xbb\xbf" + CRLF,
        TORN.decode().encode("utf-16"),
        gzip.compress(TORN),
        gzip.compress(TORN[:2000]) + gzip.compress(TORN[2000:]),
        b"\n\n" + TORN.rstrip(b"\n"),
    ],
    ids=["plain", "crlf", "cr", "bom", "utf-16", "gzip", "two-members", "no-end"],
)
def test_line_ends_marks_and_compression_do_not_matter(tmp_path, content):
    log = read_bytes(tmp_path, content)
    assert len(log) == 12 and log.problems.count("torn-line") == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (gzip.compress(b""), "the file is empty"),
        (gzip.compress(TORN)[:-200], "damaged or cut"),
        (gzip.compress(TORN)[:200] + b"x" * 90, "damaged or cut"),
        (b"\x1f\x8b", "damaged or cut"),
        (random.Random(1).randbytes(4096), "binary|unknown"),
        (bytes(4096), "binary and no log"),
        (b"\x7fELF\x02\x01\x01" + bytes(300), "binary and no log"),
        (b"PK\x03\x04rest", "a ZIP archive or a spreadsheet"),
        (b"\xfd7zXZ\x00rest", "an xz file; unpack"),
        (b"hello\nworld\n", "format is unknown; the first line is 'hello'"),
        (b"\n\n", "format is unknown"),
        (
            b'{"status":"success","data":{"resultType": "matrix","result":['
            + b'[1745514104,"1"],' * 10_000,
            "a document that is no valid JSON or has no end",
        ),
    ],
    # The default ids contain the bytes.
    ids=itertools.count(),
)
def test_what_is_no_log_is_refused(tmp_path, content, message):
    with pytest.raises(PowerLogError, match=message):
        read_bytes(tmp_path, content)


def test_line_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "MAX_LINE_CHARACTERS", 1000)
    with pytest.raises(PowerLogError, match="line 1: the line has 1000 characters or more"):
        read_bytes(tmp_path, b"Time," * 1000)


def test_file_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "MAX_UNPACKED_BYTES", 3000)
    with pytest.raises(PowerLogError, match="cut it to the time of the run"):
        read_bytes(tmp_path, gzip.compress(TORN))


def test_what_is_no_regular_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path / "fifo", tmp_path):
        with pytest.raises(PowerLogError, match="no regular file"):
            read_log(LogRequest(path))
    with pytest.raises(PowerLogError, match="No such file"):
        read_log(LogRequest(tmp_path / "absent"))


def test_zero_bytes_after_a_crash_are_a_torn_line(tmp_path):
    lines = TORN.splitlines(keepends=True)
    log = read_bytes(tmp_path, b"".join(lines[:2]) + bytes(20) + b"".join(lines[2:]))
    assert len(log) == 12


def test_command_refuses_in_one_line_without_traceback(tmp_path):
    path = tmp_path / "log.txt"
    path.write_bytes(b"Time,hello,Watts,1\n")
    result = CliRunner().invoke(main, ["power-log", str(path), "--format", "ptd"])
    assert result.exit_code == 1
    assert result.output == (
        f"Error: {path}: no line is a whole reading of the format ptd (line 1: the time 'hello', "
        "not like MM-DD-YYYY HH:MM:SS.mmm)\n"
    )


LONG = [
    b"Time,12-23-2020 %02d:%02d:%02d.500,Watts,%d.0,Volts,210.0,Amps,5.5,PF,0.98\n"
    % (second // 3600, second // 60 % 60, second % 60, 1100 + second % 7)
    for second in range(10_000)
]


def test_many_problems_of_a_kind_are_counted_and_not_all_listed(tmp_path):
    lines = TORN.splitlines(keepends=True)
    log = read_bytes(tmp_path, b"".join(LONG) + lines[3] * 1000)
    problems = [p for p in log.problems.list_all() if p.kind == "torn-line"]
    assert len(problems) == 21 and problems[-1].found == "980 more after line 10020, not listed"


def test_hundred_megabytes_are_read_in_bounded_time_and_memory(tmp_path):
    # 3 MB here; time grows with the lines alone.
    start = "Time,12-23-2020 {:02}:{:02}:{:02}.500,Watts,{}.0,Volts,200.0,Amps,0.5,PF,1.0,Mark,m\n"
    path = tmp_path / "long.txt"
    with path.open("w") as file:
        for second in range(40_000):
            watts = 100 + second % 7
            file.write(start.format(second // 3600, second // 60 % 60, second % 60, watts))
    begin = time.process_time()
    assert len(read_log(LogRequest(path))) == 40_000
    assert time.process_time() - begin < 10


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(seed=st.integers(0, 2**32), name=st.sampled_from(["ptd_torn.txt", "training_node_0.txt.gz"]))
def test_damage_anywhere_never_ends_in_a_traceback(tmp_path, seed, name):
    content = (DATA / name).read_bytes()
    content = bytearray(gzip.decompress(content) if name.endswith(".gz") else content)
    chance = random.Random(seed)
    for _ in range(chance.randrange(1, 8)):
        begin = chance.randrange(len(content))
        end = begin + chance.randrange(60)
        content[begin:end] = chance.randbytes(chance.randrange(30))
    try:
        read_bytes(tmp_path, bytes(content))
    except PowerLogError as error:
        assert str(tmp_path) in str(error)


def test_a_torn_document_leaves_those_behind_it_whole(tmp_path):
    line = '{"timestamp_ns": %d, "gpu_index": 0, "telemetry_data": {"gpu_power_usage": 300}}\n'
    lines = [line % (1_772_618_400 * 10**9 + second * 10**9) for second in range(40)]
    lines[10] = lines[10][:50] + "\n"
    log = read_bytes(tmp_path, "".join(lines).encode())
    assert len(log) == 39
    assert ("torn-line", 11) in [(p.kind, p.line) for p in log.problems.list_all()]


def test_stamps_of_ipmitool_are_in_the_zone_that_they_name(tmp_path):
    reading = (
        "    Instantaneous power reading:   {} Watts\n"
        "    IPMI timestamp:      Wed Mar  4 10:00:{:02} 2026{}\n"
    )
    rows = [(900 + second, second) for second in range(5)]
    utc = read_bytes(tmp_path, "".join(reading.format(*r, " UTC") for r in rows).encode())
    assert (utc.time_zone, utc.start_ns) == ("UTC", 1_772_618_400 * 10**9)
    for zone in ("", " CET"):
        log = read_bytes(tmp_path, "".join(reading.format(*r, zone) for r in rows).encode())
        assert log.time_zone is None and len(log) == 5


def test_log_over_the_end_of_summer_time_says_what_to_do(tmp_path):
    path = tmp_path / "log.csv"
    stamps = [f"2026-10-25 0{hour}:{m:02}:00" for hour in (1, 2, 2, 3) for m in range(60)]
    path.write_text("time,power\n" + "".join(f"{stamp},900\n" for stamp in stamps))
    (tmp_path / "map.toml").write_text(
        'interval = "instant"\n[time]\ncolumn = "time"\nformat = "iso"\n'
        '[power]\ncolumn = "power"\nunit = "W"\n'
    )
    request = LogRequest(path, map_path=tmp_path / "map.toml", time_zone="Europe/Berlin")
    with pytest.raises(PowerLogError, match=r"occurs twice.*UTC or an offset, or cut"):
        read_log(request)
