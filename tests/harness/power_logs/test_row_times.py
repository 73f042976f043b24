"""Times of rows that share a minute are those of `strptime`, which is called once a minute."""

from datetime import datetime
from types import SimpleNamespace

import pytest

from rules.power_logs import row_times
from rules.power_logs.csv_map import TimeColumn
from rules.power_logs.row_times import _parse_moment

FORMATS = ("%Y/%m/%d %H:%M:%S.%f", "%d.%m.%Y %H:%M:%S", "%H:%M:%S", "%M:%S %H")
TEXTS = (
    *("2026/03/04 10:00:07.356", "2026/03/04 10:00:7.5", "2026/03/04 10:00:60.1"),
    *("2026/03/04 10:61:07.1", "2026/03/04 10:00:07.1234567", "2026/03/04 10:00:07."),
    *("2026/03/04 10:00:07", "04.03.2026 10:00:59", "04.03.2026 10:00:5٣", "10:00:07"),
    *(":07", "10:00 07", ""),
)


@pytest.mark.parametrize("time_format", FORMATS)
@pytest.mark.parametrize("text", TEXTS)
def test_moment_is_that_of_strptime(text: str, time_format: str) -> None:
    try:
        expected = datetime.strptime(text, time_format)
    except ValueError:
        with pytest.raises(ValueError, match="not of the format"):
            _parse_moment(text, time_format)
        return
    assert _parse_moment(text, time_format) == expected


def test_rows_of_a_minute_are_parsed_together() -> None:
    row_times._parse_minute.cache_clear()
    for second in range(60):
        _parse_moment(f"2026/03/04 10:00:{second:02}.5", FORMATS[0])
    assert row_times._parse_minute.cache_info().misses == 1


def test_count_of_a_hundred_million_is_a_stamp() -> None:
    source, csv_map = SimpleNamespace(start_ns=7), SimpleNamespace(decimal=".")
    milliseconds = TimeColumn((), "unix", 10**6, None)
    times = row_times._make_unix(source, csv_map, milliseconds)  # type: ignore[arg-type]
    assert times.parse("99999999") == 7 + 99_999_999 * 10**6 and times.from_start
    times = row_times._make_unix(source, csv_map, milliseconds)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not between 1973 and 2191"):
        times.parse("100000000")
